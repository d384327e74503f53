"""Tests the Python package with a real library and mmlog-decode. check_python.sh calls this."""

import faulthandler
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import mmlog

DECODE = os.environ["MMLOG_DECODE"]


def records(directory, with_created=False):
    """What mmlog-decode prints of a log. On a busy machine, any record may have log.created."""
    run = subprocess.run([DECODE, "--json", directory], check=False, capture_output=True)
    found = [json.loads(line) for line in run.stdout.splitlines()]
    for record in found:
        if not with_created:
            record.get("attributes", {}).pop("log.created", None)
    return found


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.directory = os.path.join(folder.name, "log")

    def logger(self, store, name="tests.python"):
        logger = logging.Logger(name, 1)
        logger.addHandler(mmlog.Handler(store))
        return logger


class HandlerTests(Case):
    def test_levels_labels_and_places_are_kept(self):
        numbers = {5: "trace", 10: "debug", 20: "info", 25: "notice", 30: "warning", 40: "error", 50: "critical", 99: "critical"}
        with mmlog.Store(self.directory, "levels") as store:
            log = self.logger(store, "orders.matching")
            for number in numbers:
                log.log(number, "level %d", number)
        found = records(self.directory)
        self.assertEqual([record["severity_text"] for record in found], list(numbers.values()))
        self.assertEqual({record["scope_name"] for record in found}, {"orders.matching"})
        self.assertEqual([record["body"] for record in found], [f"level {number}" for number in numbers])
        self.assertTrue(found[0]["code_file_path"].endswith("check_python.py"), found[0])
        self.assertEqual(found[0]["code_function_name"], "test_levels_labels_and_places_are_kept")

    def test_extra_values_keep_their_types(self):
        values = {
            "an_int": -7, "large": 1 << 63, "larger": 1 << 64, "ratio": 0.1, "flag": True, "text": "Ä\0b", "nothing": None,
            "bytes": b"\xc3\xa4", "list": [1, 2],
        }
        with mmlog.Store(self.directory, "extra") as store:
            self.logger(store).info("fields", extra=values)
        (found,) = records(self.directory)
        expected = {**values, "large": str(1 << 63), "larger": str(1 << 64), "nothing": "None", "bytes": "ä", "list": "[1, 2]"}
        self.assertEqual(found["attributes"], expected)

    def test_fields_have_their_values_whatever_types_come_together_and_however_many_they_are(self):
        values = [1, 2.5, "text", True, (1 << 63) - 1, -(1 << 63), float("-inf"), b"bytes"]
        shown = values[:-2] + ["-Infinity", "bytes"]
        sizes = [1, 3, 64, 65, 300]
        with mmlog.Store(self.directory, "many") as store:
            log = self.logger(store)
            for size in sizes:
                for first in range(len(values)):
                    log.info("fields", extra={f"f{i}": values[(first + i) % len(values)] for i in range(size)})
        found = iter(records(self.directory))
        for size in sizes:
            for first in range(len(values)):
                expected = {f"f{i}": shown[(first + i) % len(values)] for i in range(size)}
                self.assertEqual(next(found)["attributes"], expected, (size, first))

    def test_long_names_that_are_alike_have_their_own_types(self):
        first, second = "p" * 504, "q" * 504
        logged = [{first: 1, second: 2}, {first: "x", second: "y"}, {second: 3, first: 4}, {first: 5, second: "z"}]
        with mmlog.Store(self.directory, "names") as store:
            log = self.logger(store)
            for values in logged * 2:
                log.info("fields", extra=values)
        self.assertEqual([record["attributes"] for record in records(self.directory)], logged * 2)

    def test_functions_of_the_same_path_and_line_have_their_own_names(self):
        with mmlog.Store(self.directory, "places") as store:
            log = self.logger(store)
            for name in ("first", "second", "first"):
                names = {}
                exec(compile(f"def {name}(log): log.info('logged')", "<cell>", "exec"), names)
                names[name](log)
        found = records(self.directory)
        self.assertEqual([record["code_function_name"] for record in found], ["first", "second", "first"])
        self.assertEqual({(record["code_file_path"], record["code_line_number"]) for record in found}, {("<cell>", 1)})

    def test_a_record_that_is_late_has_the_time_at_which_it_was_made(self):
        late = logging.makeLogRecord({"name": "late", "msg": "late", "levelno": logging.INFO, "created": 1700000000.25})
        early = logging.makeLogRecord({"name": "late", "msg": "early", "levelno": logging.INFO, "created": time.time() + 3600})
        with mmlog.Store(self.directory, "late") as store:
            handler = mmlog.Handler(store)
            handler.handle(late)
            handler.handle(early)
        found = [record.get("attributes", {}) for record in records(self.directory, with_created=True)]
        self.assertEqual(found, [{"log.created": "2023-11-14T22:13:20.250000Z"}, {}])

    def test_a_record_whose_time_is_no_year_s_or_no_number_is_kept(self):
        with mmlog.Store(self.directory, "times") as store:
            handler = mmlog.Handler(store)
            handler.handleError = self.fail
            for created in (-1e13, float("-inf"), None, float("nan")):
                values = {"name": "times", "msg": "kept", "levelno": logging.INFO, "created": created}
                handler.handle(logging.makeLogRecord(values))
        found = [record.get("attributes", {}) for record in records(self.directory, with_created=True)]
        self.assertEqual(found, [{"log.created": "-10000000000000.0"}, {"log.created": "-inf"}, {}, {}])

    def test_a_record_that_lacks_what_others_have_keeps_its_fields(self):
        record = logging.makeLogRecord({"name": "lacking", "msg": "kept", "levelno": logging.INFO, "created": time.time()})
        del record.thread, record.threadName
        record.order, record.user = 7, "ann"
        with mmlog.Store(self.directory, "lacking") as store:
            mmlog.Handler(store).handle(record)
        (found,) = records(self.directory)
        self.assertEqual(found["attributes"], {"order": 7, "user": "ann"})

    def test_what_a_record_factory_adds_is_a_field_though_it_was_set_before_the_import(self):
        program = (
            "import logging, sys\n"
            "old = logging.getLogRecordFactory()\n"
            "def factory(name, *a, **k):\n"
            "    record = old(name, *a, **k); record.request_id = name.upper(); return record\n"
            "logging.setLogRecordFactory(factory)\n"
            "import mmlog\n"
            "with mmlog.Store(sys.argv[1], 'factory') as store:\n"
            "    log = logging.Logger('maker', 1); log.addHandler(mmlog.Handler(store)); log.info('made', extra={'x': 1})\n"
            "    logging.setLogRecordFactory(logging.LogRecord); log.info('plain', extra={'x': 2})\n"
        )
        subprocess.run([sys.executable, "-c", program, self.directory], check=True)
        attributes = [record["attributes"] for record in records(self.directory)]
        self.assertEqual(attributes, [{"request_id": "MAKER", "x": 1}, {"x": 2}])

    def test_a_record_without_a_name_and_a_place_is_kept(self):
        nothing = {"name": None, "pathname": None, "lineno": None, "funcName": None}
        with mmlog.Store(self.directory, "placeless") as store:
            handler = mmlog.Handler(store)
            handler.handleError = self.fail
            for values in (nothing, {**nothing, "lineno": -1}):
                handler.handle(logging.makeLogRecord({**values, "msg": "kept", "levelno": logging.INFO}))
        found = records(self.directory)
        self.assertEqual([record["body"] for record in found], ["kept"] * 2)
        self.assertEqual([record.get("code_line_number", 0) for record in found], [0, 0])

    def test_a_handler_is_closed_also_if_its_store_cannot_be(self):
        def fail():
            raise mmlog.Error(28, "no space")

        handler = mmlog.Handler(directory=self.directory, name="failing")
        handler.set_name("failing")
        close, handler.store.close = handler.store.close, fail
        self.assertRaises(mmlog.Error, handler.close)
        close()
        self.assertIsNone(logging._handlers.get("failing"))

    def test_exceptions_are_fields(self):
        with mmlog.Store(self.directory, "exceptions") as store:
            log = self.logger(store)
            try:
                {}["missing"]
            except KeyError:
                log.exception("no such order", stack_info=True)
            log.error("none is handled", exc_info=True)
        found, other = records(self.directory)
        self.assertEqual(found["severity_text"], "error")
        self.assertEqual(found["body"], "no such order")
        fields = found["attributes"]
        self.assertEqual(fields["exception.type"], "KeyError")
        self.assertEqual(fields["exception.message"], "'missing'")
        self.assertTrue(fields["exception.stacktrace"].startswith("Traceback (most recent call last):\n"), fields)
        self.assertTrue(fields["exception.stacktrace"].endswith("KeyError: 'missing'"), fields)
        self.assertIn("test_exceptions_are_fields", fields["stack"])
        self.assertEqual(other.get("attributes", {}), {})

    def test_odd_messages_are_whole(self):
        messages = ["", "%s %d %n", "zero \0 byte", "half \ud800 of one", "ä" * 70_000, "{}"]
        with mmlog.Store(self.directory, "odd") as store:
            log = self.logger(store, "odd \0 label")
            for message in messages:
                log.info("%s", message)
            log.info(messages[1])
        found = [record["body"] for record in records(self.directory)]
        self.assertEqual(found, ["", "%s %d %n", "zero \\x00 byte", "half ? of one", "ä" * 70_000, "{}", "%s %d %n"])

    def test_levels_can_be_set(self):
        with mmlog.Store(self.directory, "set", level=mmlog.WARNING) as store:
            log = self.logger(store, "db.pool")
            log.info("below")
            store.set_level(mmlog.DEBUG, "db.*")
            log.debug("above")
            store.set_level(logging.ERROR, "db.*")
            log.warning("below that of logging")
            log.error("above that of logging")
            for wrong in [0, 9, -1]:
                self.assertRaises(ValueError, store.set_level, wrong)
        found = [record["body"] for record in records(self.directory)]
        self.assertEqual(found, ["above", "above that of logging"])

    def test_a_configuration_opens_and_closes_a_store(self):
        import logging.config
        handler = {"class": "mmlog.Handler", "directory": self.directory, "name": "configured", "level": "INFO"}
        logging.config.dictConfig({
            "version": 1, "handlers": {"mmlog": handler},
            "loggers": {"configured": {"handlers": ["mmlog"], "level": "DEBUG", "propagate": False}},
        })
        log = logging.getLogger("configured")
        log.debug("below")
        log.info("kept")
        (made,) = log.handlers
        made.close()
        log.info("after the end")
        self.assertEqual([record["body"] for record in records(self.directory)], ["kept"])
        self.assertFalse([name for name in os.listdir(self.directory) if name.endswith(".ring")])

    def test_a_handler_whose_store_cannot_be_opened_leaves_nothing_to_close(self):
        program = (
            "import logging, mmlog\n"
            "try:\n"
            "    mmlog.Handler(directory='/proc/nowhere/log', name='name')\n"
            "except mmlog.Error as error:\n"
            "    kept = error  # and with it the handler, which logging closes at the end\n"
        )
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_a_value_without_a_text_costs_no_record(self):
        class Bad(Exception):
            def __str__(self):
                raise ValueError("not today")

        with mmlog.Store(self.directory, "textless") as store:
            log = self.logger(store)
            log.info("extra", extra={"value": Bad(), "digits": 10**5000, "other": 1})
            try:
                raise Bad
            except Bad:
                log.exception("raised")
        extra, raised = records(self.directory)
        without = "<Bad: str() failed>"
        self.assertEqual(extra["attributes"], {"value": without, "digits": "<int: str() failed>", "other": 1})
        self.assertEqual((raised["body"], raised["attributes"]["exception.message"]), ("raised", without))

    def test_a_formatter_that_fails_costs_no_record(self):
        class Failing(logging.Formatter):
            def formatException(self, exc_info):
                raise ValueError("not today")

        with mmlog.Store(self.directory, "formatter") as store:
            log = self.logger(store)
            log.handlers[0].setFormatter(Failing())
            try:
                raise KeyError("order")
            except KeyError:
                log.exception("raised")
        (found,) = records(self.directory)
        self.assertEqual(found["body"], "raised")
        trace = found["attributes"]["exception.stacktrace"]
        self.assertTrue(trace.endswith("KeyError: 'order'"), found)

    def test_a_recursion_that_never_ends_is_the_program_s_as_with_other_handlers(self):
        class Endless:
            def __str__(self):
                return str(self)

        with mmlog.Store(self.directory, "endless") as store:
            log = self.logger(store)
            self.assertRaises(RecursionError, log.info, "%s", Endless())
            log.info("good")
        self.assertEqual([record["body"] for record in records(self.directory)], ["good"])

    def test_a_handler_with_a_store_takes_no_options_of_a_store(self):
        with mmlog.Store(self.directory, "given") as store:
            directory = {"directory": self.directory}
            for options in ({"ring_size": 1 << 20}, {"name": "other"}, directory, {"misspelt": 1}):
                self.assertRaises(TypeError, mmlog.Handler, store, **options)
            mmlog.Handler(store, level=logging.INFO)

    def test_statements_beyond_those_that_have_a_place_share_one(self):
        def made(line):
            values = {"name": "n", "msg": "kept", "levelno": 20, "pathname": "p", "lineno": line}
            return logging.makeLogRecord(values)

        with mmlog.Store(self.directory, "crowded") as store:
            handler = mmlog.Handler(store)
            handler._MOST_SITES = 2
            sites = [handler._site(made(line)) for line in (1, 2, 3, 4, 3, 1)]
            self.assertIs(sites[0], sites[5])
            self.assertEqual(len({id(site) for site in sites}), 3)
            handler.handle(made(5))
        self.assertEqual([record["body"] for record in records(self.directory)], ["kept"])

    def test_what_cannot_be_logged_is_said_as_by_other_handlers(self):
        class Bad:
            def __str__(self):
                raise ValueError("not today")

        with mmlog.Store(self.directory, "bad") as store:
            log = self.logger(store)
            errors, log.handlers[0].handleError = [], lambda record: errors.append(record.msg)
            log.info("bad %s", Bad())
            log.info("good")
        self.assertEqual(errors, ["bad %s"])
        self.assertEqual([record["body"] for record in records(self.directory)], ["good"])


class StoreTests(Case):
    def test_what_is_wrong_is_an_error_that_says_so(self):
        with self.assertRaises(mmlog.Error) as caught:
            mmlog.Store("/proc/nowhere/log", "name")
        self.assertIn("/proc/nowhere", str(caught.exception))
        with self.assertRaises(mmlog.Error):
            mmlog.Store(self.directory, "a/b")
        with self.assertRaises(mmlog.Error):
            mmlog.Store(self.directory, "name", ring_size=1)
        with self.assertRaises(ValueError):
            mmlog.Store(self.directory, "name", full_ring="explode")
        with self.assertRaises(TypeError):
            mmlog.Handler()

        for wrong in [
            {"full_ring_wait": 50 * 86400}, {"rotation_size": -1}, {"retention_size": 1 << 64}, {"retention_age": -1},
            {"ring_size": -1}, {"full_ring_wait": float("nan")}, {"file_mode": 0o600 | 1 << 32}, {"file_mode": -1},
            {"ring_directory": self.directory + "\0s"},
        ]:
            with self.assertRaises(ValueError, msg=str(wrong)):
                mmlog.Store(self.directory, "name", **wrong)
        with self.assertRaises(ValueError):
            mmlog.Store(self.directory + "\0s", "name")
        # Another name would have other files, and another group other readers.
        for name, group in [("a\0b", None), ("name", "gr\0up"), ("half \ud800", None)]:
            with self.assertRaises(ValueError):
                mmlog.Store(self.directory, name, file_group=group)
        for name, group in [("n\udce9m", None), ("name", "gr\udce9up")]:
            with self.assertRaises(mmlog.Error):
                mmlog.Store(self.directory, name, file_group=group)
        self.assertFalse(os.path.exists(self.directory))

    def test_a_directory_that_is_not_utf_8_is_an_error_and_no_other_directory_is_made(self):
        folder = os.path.dirname(self.directory)
        with self.assertRaises(mmlog.Error) as caught:
            mmlog.Store(os.fsencode(self.directory) + b"\xe9", "bytes")
        self.assertIn("UTF-8", str(caught.exception))
        self.assertEqual(os.listdir(folder), [])

    def test_an_error_has_the_number_of_the_system_s_error_if_there_is_one(self):
        with self.assertRaises(mmlog.Error) as caught:
            mmlog.Store(self.directory, "name", rotation_size=1)
        self.assertEqual(caught.exception.errno, 0)
        self.assertTrue(str(caught.exception).startswith("The configuration is not valid: rotation_size is 1:"), caught.exception)
        with self.assertRaises(mmlog.Error) as caught:
            mmlog.Store("/proc/nowhere/log", "name")
        self.assertNotEqual(caught.exception.errno, 0)
        self.assertTrue(str(caught.exception).startswith(f"[Errno {caught.exception.errno}] "), caught.exception)

    def test_an_error_names_what_there_is_here(self):
        with self.assertRaises(mmlog.Error) as caught:
            mmlog.Store(self.directory, "name", rotation_size=1)
        self.assertTrue(str(caught.exception).endswith("rotation_size is 1: it must be at least 4 KiB, or None."), caught.exception)
        with self.assertRaises(mmlog.Error) as caught:
            mmlog.Store(self.directory, "name", file_mode=0o777)
        self.assertRegex(str(caught.exception), "file_mode is 0o777: .* 0o640")
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o777)
        with self.assertRaises(mmlog.Error) as caught:
            mmlog.Store(self.directory, "name")
        self.assertTrue(str(caught.exception).endswith("with the setting allows_untrusted_directory."), caught.exception)

    def test_a_limit_that_is_none_and_a_directory_that_is_allowed_are_taken(self):
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o777)
        limits = {"rotation_size": None, "retention_size": None, "retention_age": None}
        mmlog.Store(self.directory, "name", allows_untrusted_directory=True, **limits).close()

    def test_a_signal_handler_may_log_while_a_logger_is_made(self):
        class Interrupted:
            def __getattr__(self, name):
                return getattr(library, name)

            def mmlog_get_logger(self, *arguments):
                if not handled:
                    signal.raise_signal(signal.SIGUSR1)
                return library.mmlog_get_logger(*arguments)

        def handle(*_):
            handled.append(True)
            self.logger(store, "of the handler").info("handled")

        handled, library = [], mmlog.library
        self.addCleanup(signal.signal, signal.SIGUSR1, signal.signal(signal.SIGUSR1, handle))
        with mmlog.Store(self.directory, "interrupted") as store:
            mmlog.library = Interrupted()
            self.addCleanup(setattr, mmlog, "library", library)
            # Ends the process if it hangs.
            faulthandler.dump_traceback_later(60, exit=True)
            self.logger(store, "of the program").info("logged")
            faulthandler.cancel_dump_traceback_later()
        self.assertEqual({record["body"] for record in records(self.directory)}, {"handled", "logged"})

    def test_flushed_records_are_in_an_archive(self):
        store = mmlog.Store(self.directory, "flushed")
        self.logger(store).info("one")
        store.flush(disk=True)
        run = subprocess.run([DECODE, "--format", "message", *self.archives()], check=False, capture_output=True)
        self.assertEqual(run.stdout, b"one\n")
        store.close()
        store.close()
        with self.assertRaises(ValueError):
            store.flush()

    def test_a_store_is_closed_when_other_threads_have_flushed_it(self):
        class Observed:
            def __getattr__(self, name):
                return getattr(library, name)

            def mmlog_flush(self, *arguments):
                flushing.set()
                # Comes only if the store is closed too early; then mmlog_flush would have no store.
                closed.wait(0.5)
                order.append("flushed")
                return library.mmlog_flush(*arguments) if not closed.is_set() else 0

            def mmlog_close(self, *arguments):
                order.append("closed")
                closed.set()
                return library.mmlog_close(*arguments)

        order, library, flushing, closed = [], mmlog.library, threading.Event(), threading.Event()
        mmlog.library = Observed()
        self.addCleanup(setattr, mmlog, "library", library)
        store = mmlog.Store(self.directory, "both")
        self.logger(store).info("one")
        thread = threading.Thread(target=store.flush)
        thread.start()
        flushing.wait()
        store.close()
        thread.join()
        self.assertEqual(order, ["flushed", "closed"])
        self.assertRaises(ValueError, store.flush)

    def test_a_signal_handler_may_close_the_store_that_its_thread_flushes(self):
        class Interrupted:
            def __getattr__(self, name):
                return getattr(library, name)

            def mmlog_flush(self, *arguments):
                status = library.mmlog_flush(*arguments)
                signal.raise_signal(signal.SIGUSR1)
                return status

        library, store = mmlog.library, mmlog.Store(self.directory, "interrupted")
        before = signal.signal(signal.SIGUSR1, lambda *_: store.close())
        self.addCleanup(signal.signal, signal.SIGUSR1, before)
        mmlog.library = Interrupted()
        self.addCleanup(setattr, mmlog, "library", library)
        # Ends the process if it hangs.
        faulthandler.dump_traceback_later(60, exit=True)
        store.flush()
        faulthandler.cancel_dump_traceback_later()
        self.assertRaises(ValueError, store.flush)

    def archives(self):
        return [os.path.join(self.directory, name) for name in os.listdir(self.directory) if not name.endswith(".ring")]

    def test_a_full_ring_loses_and_counts_or_waits(self):
        count, text = 400, "x" * 4000
        for policy in ("drop", "wait"):
            directory = self.directory + policy
            with mmlog.Store(directory, "full", ring_size=256 << 10, full_ring=policy, full_ring_wait=30) as store:
                log = self.logger(store)
                for number in range(count):
                    log.info("%d %s", number, text)
                lost = store.lost_records
            found = [int(record["body"].split()[0]) for record in records(directory) if text in record["body"]]
            self.assertEqual(len(found) + lost, count, policy)
            self.assertEqual(found, sorted(set(found)), policy)
            if policy == "wait":
                self.assertEqual(lost, 0)


class LibraryTests(Case):
    def load(self, folder, **environment):
        """Imports the package from a folder, in a process of its own."""
        environment = {**os.environ, "PYTHONPATH": folder, **environment}
        return subprocess.run([sys.executable, "-c", "import mmlog"], env=environment, capture_output=True, text=True)

    def test_the_library_is_found_beside_the_package_whatever_the_path_has(self):
        folder = self.directory + "[1]*"
        shutil.copytree(os.path.dirname(mmlog.__file__), os.path.join(folder, "mmlog"))
        found = self.load(folder)
        self.assertEqual((found.returncode, found.stderr), (0, ""))

    def test_a_library_that_is_named_is_taken_and_no_other(self):
        missing = os.path.join(self.directory, "libmmlog.so.1")
        found = self.load(os.path.dirname(os.path.dirname(mmlog.__file__)), MMLOG_LIBRARY=missing)
        self.assertEqual(found.returncode, 1)
        self.assertIn(f"({missing}: cannot open", found.stderr)


class DeathTests(Case):
    def test_threads(self):
        with mmlog.Store(self.directory, "threads") as store:
            log = self.logger(store)

            def work(thread):
                for number in range(2000):
                    log.info("%d %d", thread, number, extra={"thread_number": thread})

            threads = [threading.Thread(target=work, args=(thread,)) for thread in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        found = [tuple(map(int, record["body"].split())) for record in records(self.directory)]
        self.assertEqual(len(found), 8000)
        for thread in range(4):
            self.assertEqual([number for other, number in found if other == thread], list(range(2000)))

    def test_a_child_of_fork_logs_for_itself(self):
        store = mmlog.Store(self.directory, "forked")
        log = self.logger(store)
        log.info("parent before")
        children = []
        for number in range(3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                try:
                    log.info("child %d", number)
                    self.logger(store, f"other.{number}").info("other %d", number)
                    if number == 1:
                        store.close()
                    if number == 2:
                        os.kill(os.getpid(), signal.SIGKILL)
                finally:
                    os._exit(0)
            children.append(child)
        statuses = [os.waitpid(child, 0)[1] for child in children]
        self.assertEqual(statuses, [0, 0, signal.SIGKILL])
        log.info("parent after")
        store.close()
        found = sorted(record["body"] for record in records(self.directory))
        expected = [f"{kind} {number}" for kind in ("child", "other") for number in range(3)] + ["parent after", "parent before"]
        self.assertEqual(found, expected)

    def test_a_record_whose_call_has_returned_survives_sigkill(self):
        program = (
            "import logging, mmlog, sys, threading\n"
            "log = logging.getLogger('killed')\n"
            "log.setLevel(logging.DEBUG)\n"
            "log.addHandler(mmlog.Handler(directory=sys.argv[1], name='killed', ring_size=1 << 20,\n"
            # On a busy machine, the drainer may not run for seconds.
            "                             full_ring_wait=60))\n"
            "threading.Thread(target=lambda: [log.debug('beside %d', i) for i in range(10**9)], daemon=True).start()\n"
            "for number in range(10**9):\n"
            "    log.info('number %d', number, extra={'number': number})\n"
            "    sys.stdout.write(f'{number}\\n')\n"
            "    sys.stdout.flush()\n"
        )
        for target in (1, 500, 5000):
            directory = f"{self.directory}{target}"
            child = subprocess.Popen([sys.executable, "-c", program, directory], stdout=subprocess.PIPE)
            told = -1
            while told < target:
                told = int(child.stdout.readline())
            child.kill()
            rest = child.communicate()[0].split(b"\n")
            self.assertEqual(child.returncode, -signal.SIGKILL)
            told = max([told, *[int(line) for line in rest[:-1] if line]])
            found = [record["attributes"]["number"] for record in records(directory) if "number" in record["attributes"]]
            self.assertEqual(found, list(range(len(found))))
            self.assertGreater(len(found), told)


def timing():
    """Measures the caller's processor time for each call of logging, with several handlers."""
    with tempfile.TemporaryDirectory() as folder:
        class Nothing(logging.Handler):
            def emit(self, record):
                pass

        store = mmlog.Store(os.path.join(folder, "log"), "timing", ring_size=64 << 20, full_ring_wait=60)
        handlers = {
            "no handler's work": Nothing(),
            "mmlog.Handler": mmlog.Handler(store),
            "logging.FileHandler": logging.FileHandler(os.path.join(folder, "text")),
        }
        handlers["logging.FileHandler"].setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        best = {name: [float("inf")] * 2 for name in handlers}
        count = 20_000
        for _ in range(5):
            for name, handler in handlers.items():
                log = logging.Logger("orders.matching", logging.INFO)
                log.addHandler(handler)
                for kind, extra in enumerate((None, {"venue": "XETRA", "attempt": 3, "late_ms": 12.5})):
                    start = time.thread_time()
                    for number in range(count):
                        log.info("order %d accepted for %s", number, "alice", extra=extra)
                    best[name][kind] = min(best[name][kind], (time.thread_time() - start) / count * 1e6)
        handlers["logging.FileHandler"].close()
        store.close()
    print("microseconds of the caller             plain   with three fields")
    for name, (plain, fields) in best.items():
        print(f"  {name:32}  {plain:7.2f}   {fields:7.2f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["timing"]:
        timing()
    else:
        unittest.main(verbosity=1)
