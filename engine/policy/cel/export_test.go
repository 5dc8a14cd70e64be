package cel

// NewThriftyCompiler is a compiler whose rules may do less in one plan.
func NewThriftyCompiler(planWork uint64) (*Compiler, error) {
	c, err := NewCompiler()
	if err == nil {
		c.planWork = planWork
	}
	return c, err
}
