#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#include <string.h>

// Swift calls no variadic functions. The value is copied.
static inline rd_kafka_resp_err_t mmlog_kafka_produce(
    rd_kafka_t *producer, const char *topic, const char *key, const void *value, size_t size,
    const char *id, const char *batch, void *context) {
  return rd_kafka_producev(
      producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key, strlen(key)),
      RD_KAFKA_V_VALUE((void *)value, size), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_HEADER("mmlog-id", id, -1), RD_KAFKA_V_HEADER("mmlog-batch", batch, -1),
      RD_KAFKA_V_OPAQUE(context), RD_KAFKA_V_END);
}
