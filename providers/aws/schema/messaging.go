package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/atlantide-org/atlantide-operator/engine/model"
)

// fifoSuffix ends the name of every FIFO queue at AWS; a config may leave it out.
const fifoSuffix = ".fifo"

// maxQueueName bounds the whole name of a queue, in characters.
const maxQueueName = 80

// messaging is SQS and SNS (providers.md 2.4, 2.8, 2.9).
func messaging() []*model.ResourceType {
	plainName := matches("be letters, digits, '_' and '-', perhaps with "+fifoSuffix+" behind it", `[A-Za-z0-9_-]+(?:\.fifo)?`)
	queue := resource("SqsQueue", "A queue.", tagged(), []model.Field{
		named(immutable("queue_name", checked(text, plainName), "Name; a FIFO queue gets "+fifoSuffix+" where it is missing.")),
		or(immutable("fifo", boolean, "Keep the order and deliver once."), false),
		or(mutable("visibility_timeout", integer, "Seconds for which a received message is hidden."), int64(30)),
		or(mutable("message_retention_seconds", integer, "Seconds for which a message is kept."), int64(345600)),
		or(mutable("receive_wait_time_seconds", integer, "Seconds that a receive waits for a message."), int64(0)),
		or(mutable("dead_letter_target_arn", nullableText, "Queue for what was received too often."), nil),
		or(mutable("max_receive_count", integer, "Receives before a message goes to the dead-letter queue."), int64(5)),
		or(mutable("kms_key_id", nullableText, "Key of the encryption."), nil),
		computed("url", text, "URL."),
		computed("arn", text, "ARN."),
	})
	queue.Rules = []model.Rule{
		{
			Fields: []string{"queue_name", "fifo"}, Must: "set fifo for a name that ends in " + fifoSuffix,
			Holds: func(f map[string]model.Value) bool {
				name, _ := f["queue_name"].(string)
				return f["fifo"] != false || !strings.HasSuffix(name, fifoSuffix)
			},
		},
		{
			Fields: []string{"queue_name", "fifo"}, Must: fmt.Sprintf("make a name of at most %d characters, %s included", maxQueueName, fifoSuffix),
			Holds: func(f map[string]model.Value) bool {
				name, _ := f["queue_name"].(string)
				if f["fifo"] != false && !strings.HasSuffix(name, fifoSuffix) {
					name += fifoSuffix
				}
				return utf8.RuneCountInString(name) <= maxQueueName
			},
		},
		{
			Fields: []string{"dead_letter_target_arn", "max_receive_count"}, Must: "have a max_receive_count of at least 1 with a dead-letter queue",
			Holds: func(f map[string]model.Value) bool {
				receives, known := f["max_receive_count"].(int64)
				return !given(f["dead_letter_target_arn"]) || !known || receives >= 1
			},
		},
	}
	queue.Constants = actions("sqs", "SendMessage", "ReceiveMessage", "DeleteMessage", "GetQueueUrl", "GetQueueAttributes", "PurgeQueue")

	topic := resource("SnsTopic", "A topic.", tagged(), []model.Field{
		named(immutable("name", text, "Name.")),
		computed("arn", text, "ARN."),
	})
	topic.Constants = actions("sns", "Publish", "Subscribe")

	subscription := resource("SnsSubscription", "The subscription of an endpoint to a topic.", regional(), []model.Field{
		immutable("topic_arn", text, "ARN of the topic."),
		or(immutable("protocol", text, "How messages are delivered."), "sqs"),
		immutable("endpoint", text, "Where messages are delivered, in the form of the protocol."),
		computed("subscription_arn", text, "ARN."),
	})
	return []*model.ResourceType{queue, topic, subscription}
}
