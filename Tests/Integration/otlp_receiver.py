"""Posts lines of OTLP in JSON to an OTLP receiver, as an OpenTelemetry client does. Prints what the
receiver got.

    otlp_receiver.py FILE      prints a line for each record: [LEVEL, BODY]

The receiver is oteltap, on loopback. It accepts requests in protocol buffers.
"""

import asyncio
import json
import socket
import sys
import urllib.request

from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from oteltap import OtelTapHttpProtobufReceiver, OtelTapHttpProtobufReceiverSettings


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def post(port, request):
    urllib.request.urlopen(
        urllib.request.Request(
            f"http://127.0.0.1:{port}/v1/logs",
            data=request.SerializeToString(),
            headers={"Content-Type": "application/x-protobuf"},
        ),
        timeout=30,
    ).close()


def count(request):
    return sum(len(scope.log_records) for resource in request.resource_logs for scope in resource.scope_logs)


async def take(records, number):
    async for record in records:
        print(json.dumps([record.severity_text, record.body.string_value], ensure_ascii=False))
        number -= 1
        if number == 0:
            return


async def main(path):
    requests = [Parse(line, ExportLogsServiceRequest()) for line in open(path, encoding="utf-8")]
    port = free_port()
    async with OtelTapHttpProtobufReceiver(OtelTapHttpProtobufReceiverSettings(port)) as receiver:
        taken = asyncio.create_task(take(receiver.stream_logs(), sum(map(count, requests))))
        # The stream has only what comes after it begins.
        await asyncio.sleep(0)
        for request in requests:
            await asyncio.to_thread(post, port, request)
        await asyncio.wait_for(taken, 120)


asyncio.run(main(sys.argv[1]))
