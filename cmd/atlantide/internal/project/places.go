package project

// InEveryProfile is the project without a profile and under each that its file defines, as
// far as these say where state and secrets lie: what is another profile's is the project's too.
func (p *Project) InEveryProfile() []*Project {
	profiles, _ := p.whole.table("profile")
	base := p.whole.places()
	all := []*Project{p.with("", base)}
	for _, name := range profiles.tables() {
		over, _ := profiles.table(name)
		all = append(all, p.with(name, merged(base, over.places())))
	}
	return all
}

func (p *Project) with(profile string, settings section) *Project {
	other := *p
	other.Profile, other.settings = profile, settings
	return &other
}

// places are the settings that say where something lies, and nothing else: a file may define
// very many profiles over very many settings.
func (s section) places() section {
	only := section{}
	for _, key := range []string{"state", "secrets_key", "secrets_store"} {
		if name, ok := s.text(key); ok {
			only[key] = name
		}
	}
	if table, ok := s.table("state"); ok {
		state := map[string]any{}
		if backend, ok := table.text("backend"); ok {
			state["backend"] = backend
		}
		only["state"] = state
	}
	return only
}
