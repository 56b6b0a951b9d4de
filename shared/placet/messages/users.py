"""The AMQP users of Placet's own services: what a consumer believes a message by."""

RUNNER_USER = "placet-runner"
BROKER_USER = "placet-broker"
NOTIFIER_USER = "placet-notifier"
