from __future__ import annotations

from atlantide.components.naming import Names
from atlantide.core import Component, child, current_config, current_stack_tags, output
from atlantide.policy import REQUIRE_TAGS, enforce
from atlantide.providers.aws import CloudWatchLogGroup, LambdaFunction, SecureBucket, SqsQueue, allow

from .parts import DeadLetterQueue, role_for

Handler = dict[str, str]
_BY_LANGUAGE: dict[str, Handler] = {
    "python": {"runtime": "python3.12", "handler": "index.handler"},
    "custom": {"runtime": "provided.al2023", "handler": "bootstrap"},
}


class Worker(Component):
    """Runs one function for what comes to its queue."""

    def __init__(
        self,
        name: str,
        code: str,
        *,
        language: str = "python",
        environment: dict[str, str] | None = None,
        secret=None,
        archive: bool = False,
    ) -> None:
        env = current_config()
        memory = env.get("memory", 256) if env else 128
        names = Names(name)
        self.inbox = child(DeadLetterQueue, "inbox", receives=5)
        self.bucket = None
        if archive:
            self.bucket = child(SecureBucket, "archive", bucket=names.of("bucket", "archive"))
        self.role = role_for(names.of("role"), list(self._statements()))
        self.function = child(
            LambdaFunction,
            "function",
            function_name=names.of("queue"),
            role_arn=self.role.arn,
            code_path=code,
            memory_size=memory,
            environment=merge({"QUEUE": self.inbox.queue.url}, environment or {}),
            signing_secret=secret,
            runtime=_BY_LANGUAGE[language]["runtime"],
            handler=_BY_LANGUAGE[language]["handler"],
        )
        self.logs = child(CloudWatchLogGroup, "logs", log_group_name=f"/aws/lambda/{self.function.function_name}", retention_days=30)
        self.owner = current_stack_tags().get("owner", "nobody")
        output(f"{name}-queue", self.inbox.arn)

    def _statements(self):
        statements = [allow(SqsQueue.Action.ReceiveMessage, SqsQueue.Action.DeleteMessage, on=self.inbox.arn)]
        if self.bucket:
            statements.append(allow("s3:PutObject", on=self.bucket.bucket.objects_arn))
        return statements


def workers(table: dict[str, str], *, tagged: bool = True) -> dict[str, Worker]:
    """A worker for each name, in the order of the table."""
    if tagged:
        enforce(REQUIRE_TAGS, types={"aws.LambdaFunction", "aws.SqsQueue"}, keys=["owner"])
    made = {}
    for name, code in table.items():
        made[name] = Worker(name, code)
    return made
