"""Checks OTLP requests in protocol buffers with the definitions that OpenTelemetry publishes.

    otlp.py LOGS TRACES JSON     the two requests, and lines with the same logs in JSON

Prints the differences between the logs in both forms, and the spans as lines of JSON.
"""

import base64
import json
import sys

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


def with_base64(value):
    """Replaces hexadecimal digits, which OTLP has, by base64, which the JSON of protocol buffers has."""
    if isinstance(value, list):
        return [with_base64(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(member)).decode() if key in ("traceId", "spanId") else with_base64(member)
        for key, member in value.items()
    }


def parse(kind, path):
    message = kind()
    with open(path, "rb") as file:
        message.ParseFromString(file.read())
    return message


def records(request):
    for resource in request.resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                attributes = sorted(record.attributes, key=lambda pair: pair.key)
                del record.attributes[:]
                record.attributes.extend(attributes)
                yield str(resource.resource), scope.scope.name, str(record)


binary = list(records(parse(ExportLogsServiceRequest, sys.argv[1])))
lines = [json.dumps(with_base64(json.loads(line))) for line in open(sys.argv[3], encoding="utf-8")]
text = [r for line in lines for r in records(Parse(line, ExportLogsServiceRequest()))]
assert len(binary) == len(text) > 0, (len(binary), len(text))
for number, (one, other) in enumerate(zip(binary, text)):
    assert one == other, f"record {number} differs:\n{one}\n{other}"
for resource in parse(ExportTraceServiceRequest, sys.argv[2]).resource_spans:
    for scope in resource.scope_spans:
        for span in scope.spans:
            print(json.dumps({
                "trace": span.trace_id.hex(), "span": span.span_id.hex(), "parent": span.parent_span_id.hex(),
                "name": span.name, "nanoseconds": span.end_time_unix_nano - span.start_time_unix_nano,
                "failed": span.status.code == 2, "scope": scope.scope.name}))
