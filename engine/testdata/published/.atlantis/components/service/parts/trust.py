from atlantide.core import child
from atlantide.providers.aws import IamPolicy, IamRole, ServicePrincipal, allow

EXECUTION = frozenset({"logs:CreateLogStream", "logs:PutLogEvents"})


def role_for(name, statements, *, service=ServicePrincipal.Lambda):
    """A role with one inner policy, as parts of the component that is being made."""
    role = child(IamRole, "role", role_name=name, assumed_by=service)
    run = allow(*sorted(EXECUTION), on="*", sid="Run")
    child(IamPolicy, "policy", role_arn=role.arn, policy_name="inline", statements=[run] + statements)
    return role
