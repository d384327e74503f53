// Tests the page of a log report without a browser: its script, with a document that has only what
// the script uses.
//
//   node check_report.mjs ../../Sources/MMLogReport/Page/report.js
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import vm from "node:vm";

const script = new vm.Script(readFileSync(process.argv[2], "utf8"), { filename: process.argv[2] });

/** An element whose text can be read. */
class Element {
  constructor(tag = "div") {
    Object.assign(this, { tagName: tag.toUpperCase(), children: [], style: { setProperty() {} }, dataset: {}, value: "", hidden: false });
    Object.assign(this, { scrollTop: 0, clientWidth: 800, clientHeight: 440 });
  }
  append(...children) { this.children.push(...children); }
  replaceChildren(...children) { this.children = children; }
  get textContent() { return this.children.map((child) => child.textContent ?? child).join(""); }
  set textContent(text) { this.children = [text]; }
  setAttribute(name, value) { this[name] = value; }
  removeAttribute(name) { delete this[name]; }
  setCustomValidity(message) { this.complaint = message; }
  getContext() { return new Proxy({}, { get: () => () => {} }); }
  addEventListener() {}
  getBoundingClientRect() { return { left: 0, top: 0, width: 800, height: 440 }; }
  querySelectorAll() { return []; }
  reportValidity() {}
  showModal() {}
  focus() {}
  remove() {}
}

/** A chunk of records as ReportRecords.swift writes it, uncompressed, as without a compressor. */
function chunkOf(records) {
  const varint = (value) => {
    const bytes = [];
    for (; value >= 128; value = Math.floor(value / 128)) bytes.push(value % 128 + 128);
    return [...bytes, value];
  };
  const bytesOf = (text) => [...new TextEncoder().encode(text)];
  const columns = Array.from({ length: 10 }, () => []);
  const texts = [];
  let lastTime = 0;
  for (const [number, record] of records.entries()) {
    const { time = 0, level = 2, label = 0, thread = 0, session = 0, isCut = 0 } = record;
    const [message, fields] = [bytesOf(record.message ?? ""), bytesOf(record.fields ?? "")];
    const difference = time - lastTime;
    [
      number === 0 ? 0 : 1, difference < 0 ? -2 * difference - 1 : 2 * difference, 0, level, 0, label, thread, session,
      2 * message.length + isCut, 2 * fields.length,
    ].forEach((value, column) => { columns[column].push(...varint(value)); });
    for (const byte of message.concat(fields)) texts.push(byte);
    lastTime = time;
  }
  const element = new Element("script");
  const sizes = [records.length, ...columns.map((column) => column.length)].flatMap(varint);
  element.textContent = Buffer.from(sizes.concat(...columns, texts)).toString("base64");
  return element;
}

const session = (more = {}) => ({
  id: "s", service: "shop", process: "shop", host: "h", pid: 7, start: 0, end: 9000, ended: 9000, records: 1, errors: 0,
  ending: "closed", crash: "", thread: 0, stack: [], losses: [], ...more,
});

/** The page of records, read and drawn. Its timers wait until `runTimers`. */
async function open(records, more = {}) {
  const levels = [0, 1, 2, 3, 4, 5, 6].map((level) => records.filter((record) => (record.level ?? 2) === level).length);
  const times = records.map((record) => record.time ?? 0).sort((a, b) => a - b);
  const head = {
    made: "today", levels, offsets: [], width: 1000, buckets: [...new Set(times)].map((time) => [time, ...levels]),
    labels: ["shop"], threads: [[70, 1, "main"]], sites: [["a.swift", "run()", "{}", 3, 1, 1, 2]],
    sessions: [session()], otherSpans: 0, spans: [], corruptionCount: 0, corruption: [],
    missingCount: 0, missing: [], since: null, until: null, ...more,
  };
  const elements = new Map([["data", new Element()]]);
  elements.get("data").textContent = JSON.stringify(head);
  for (const id of ["tab-crashes", "tab-spans", "facets", "spans", "detail"]) {
    elements.set(id, Object.assign(new Element(), { hidden: true }));
  }
  const element = (id) => {
    if (!elements.has(id)) elements.set(id, new Element());
    return elements.get(id);
  };
  const timers = new Map();
  let copied;
  const context = vm.createContext({
    document: {
      getElementById: element, createElement: (tag) => new Element(tag), querySelector: () => new Element(),
      querySelectorAll: () => [chunkOf(records)], addEventListener() {}, body: new Element(), documentElement: new Element(),
    },
    window: { DecompressionStream, devicePixelRatio: 1 }, location: { hash: "", href: "file:///page.html" },
    history: { replaceState() {} }, navigator: { clipboard: { writeText: async (text) => { copied = text; } } },
    getComputedStyle: () => ({ getPropertyValue: () => "" }), matchMedia: () => ({ addEventListener() {} }),
    ResizeObserver: class { observe() {} }, HTMLTableCellElement: class {}, requestAnimationFrame: (body) => body(),
    addEventListener() {}, atob, performance, TextDecoder, URLSearchParams,
    setTimeout: (body, delay) => {
      if (!delay) return setImmediate(body);
      const timer = {};
      timers.set(timer, body);
      return timer;
    },
    clearTimeout: (timer) => timers.delete(timer),
  });
  script.runInContext(context);
  const run = (code) => vm.runInContext(code, context);
  while (run("document.documentElement.dataset.ready") === undefined) {
    assert(!element("notice").textContent.startsWith("The page cannot be shown"), element("notice").textContent);
    await new Promise(setImmediate);
  }
  return {
    element, run, text: (id) => element(id).textContent, shown: () => Array.from(run("view")), copied: () => copied,
    runTimers: async () => {
      const bodies = [...timers.values()];
      timers.clear();
      for (const body of bodies) await body();
    },
  };
}

test("the time that is shown has all of its records, though a clock was set back", async () => {
  const page = await open([1000, 2000, 3000, 1500, 2500, 500].map((time) => ({ time })));
  page.run("zoom(1400, 2600)");
  await page.runTimers();
  assert.deepEqual(page.shown(), [1, 3, 4]);
  assert.deepEqual(Array.from(page.run("countBars(3).counts"), (bar) => bar[2]), [1, 1, 1]);
});

test("where times rise, the time that is shown has its records", async () => {
  const page = await open([1000, 1500, 2000, 2500, 3000].map((time) => ({ time })));
  page.run("zoom(1500, 2500)");
  await page.runTimers();
  assert.deepEqual(page.shown(), [1, 2]);
  assert.deepEqual(Array.from(page.run("countBars(2).counts"), (bar) => bar[2]), [1, 1]);
});

test("a crash shows its last records, however many others came later", async () => {
  const others = Array.from({ length: 100_001 }, () => ({ session: 1 }));
  const page = await open([{ message: "the last word" }, ...others, { session: 2, message: "mine" }], {
    sessions: [session({ ending: "killed" }), session(), session({ ending: "crashed" })],
  });
  assert(page.text("crashes").includes("the last word"));
  assert(page.text("crashes").includes("mine"));
});

test("the thread of a crash report is the one that crashed, and without a report none is", async () => {
  const threads = [[0, 1, "main"], [70, 2, "worker"]];
  const records = [{ message: "a" }, { message: "b", thread: 1 }];
  const killed = await open(records, { threads, sessions: [session({ ending: "killed" })] });
  assert(!killed.text("crashes").includes("which crashed"));
  const crashed = await open(records, { threads, sessions: [session({ ending: "crashed", crash: "SIGSEGV", thread: 70 })] });
  assert.match(crashed.text("crashes"), /worker \(70, number 2\), which crashed.*main/);
});

test("each time has the zone that it was in, where daylight saving time has changed", async () => {
  const page = await open([{ time: 1000 }, { time: 6000 }], {
    offsets: [[0, 3600], [5000, -12600]], sessions: [session({ ending: "crashed" })],
  });
  assert.equal(page.text("subtitle"), "1970-01-01 01:00:00 UTC+01:00 to 1969-12-31 20:30:09 UTC−03:30, made today");
  assert(page.text("range").endsWith("UTC+01:00 to UTC−03:30)"), page.text("range"));
  assert(page.text("crashes").includes("20:30:09.000 UTC−03:30"), page.text("crashes"));
  page.run("choose(0, true)");
  assert(page.text("detail").includes("01:00:01.000000000 UTC+01:00"));
  page.run("choose(1, true)");
  assert(page.text("detail").includes("20:30:06.000000000 UTC−03:30"));
  page.run("zoom(5500, 6500)");
  assert(page.text("range").endsWith("(1.0 s, UTC−03:30)"), page.text("range"));
});

test("a time in one zone has it once", async () => {
  const page = await open([{ time: 1000 }], { offsets: [[0, 3600]] });
  assert.equal(page.text("subtitle"), "1970-01-01 01:00:00 to 1970-01-01 01:00:09 UTC+01:00, made today");
});

test("a record that another part of the page leads to stays in sight", async () => {
  const page = await open(Array.from({ length: 1000 }, (_, index) => ({ time: 5 * index })));
  page.run("zoom(4000, 4500)");
  await page.runTimers();
  await page.run("show(700)");
  const place = page.element("table").scrollTop;
  await page.runTimers();
  assert(place > 0);
  assert.equal(page.element("table").scrollTop, place);
  assert.equal(page.shown().length, 1000);
});

test("a record that is copied has its message as it was logged, and says if that was cut", async () => {
  const message = 'é "a"\\n\n\u001b[1m\u202e';
  const page = await open([{ time: 1000, message, fields: '{"n":12345678901234567890}' }, { message: "x", isCut: 1 }]);
  page.run("choose(0, true)");
  await page.run('copy(jsonOf(selected), "The record")');
  const record = JSON.parse(page.copied());
  assert.equal(record.body, message);
  assert.equal(record.timestamp, "1970-01-01T00:00:01.000000000Z");
  assert(!("cut" in record));
  assert(page.copied().includes('"time_unix_nano":1000000000,"attributes":{"n":12345678901234567890}'));
  const cut = JSON.parse(page.run("jsonOf(1)"));
  assert.equal(cut.body, "x…");
  assert.equal(cut.cut, true);
});

test("what would end a line or turn a text's direction is escaped where it is shown", async () => {
  const message = 'a\n\tb"\\\u001b\u0085\u2028\u202ec';
  const page = await open([{ message, fields: '{"f":"x\\u202ey"}' }], { sessions: [session({ ending: "killed" })] });
  page.run("choose(0, true)");
  const visible = 'a\\n\\tb"\\\\u{1b}\\u{85}\\u{2028}\\u{202e}c';
  for (const id of ["rows", "detail", "crashes"]) assert(page.text(id).includes(visible), page.text(id));
  assert(page.text("detail").includes("x\\u{202e}y"));
});

test("a search finds records that have all of its words, or match its expression, wherever they have them", async () => {
  const page = await open(
    [{ message: "Timeout of a.b" }, { message: "timeout", fields: '{"host":"a.b"}' }, { message: "axb\ntimeout" }, { label: 1 }],
    { labels: ["shop", "mail"] });
  const search = (text) => {
    page.element("search").value = text;
    page.run("search()");
    return page.shown();
  };
  assert.deepEqual(search(" timeout  a.b "), [0, 1]);
  assert.deepEqual(search("/^timeout( of|$)/"), [0, 1]);
  assert.deepEqual(search("/axb.*out/"), [2]);
  assert.deepEqual(search("MAIL"), [3]);
  assert.deepEqual(search("a.swift:3"), [0, 1, 2, 3]);
  assert.equal(page.element("search").complaint, "");
  // An invalid expression does not change what was found.
  assert.deepEqual(search("/(/"), [0, 1, 2, 3]);
  assert.notEqual(page.element("search").complaint, "");
});

test("a field's value, and those that are excluded, filter records", async () => {
  const fields = ['{"user":"ann"}', '{"user":"bob"}', '{"user":["ann"]}', '{"id":12345678901234567890}', ""];
  const page = await open(fields.map((fields) => ({ fields })));
  page.run('addTerm("field", "ann", false, "user")');
  assert.deepEqual(page.shown(), [0]);
  page.run('addTerm("field", "bob", false, "user")');
  assert.deepEqual(page.shown(), [0, 1]);
  page.run('clearFilters(); addTerm("field", "ann", true, "user")');
  assert.deepEqual(page.shown(), [1, 2, 3, 4]);
  page.run('clearFilters(); addTerm("field", "12345678901234567890", false, "id")');
  assert.deepEqual(page.shown(), [3]);
});

test("a crash is dated by the end of its session, and so are spans in flight, not by the last record", async () => {
  const page = await open([{ time: 1000 }], {
    sessions: [session({ end: 1000, ended: 1_801_000, ending: "crashed", crash: "SIGABRT" })],
    spans: [[0, 1000, null, 2, "order", "main", "", "1", ""]],
  });
  assert(page.text("crashes").includes("1970-01-01 00:30:01.000"), page.text("crashes"));
  assert(page.text("crashes").includes("order, for 30 min 0 s"), page.text("crashes"));
  assert(page.text("sessions").includes("1970-01-01 00:00:01.000"), page.text("sessions"));
  assert(page.text("subtitle").includes("to 1970-01-01 00:30:01"));
  page.element("spans").hidden = false;
  page.run("zoom(1700000, 1800000)");
  assert(page.text("spans").includes("1 of 1 spans"), page.text("spans"));
});

test("the crash that happened last comes first, whichever session began last", async () => {
  const page = await open([{}], {
    sessions: [session({ pid: 1, ended: 9000, ending: "killed" }), session({ pid: 2, ended: 5000, ending: "killed" })],
  });
  assert.match(page.text("crashes"), /pid 1.*pid 2/);
});

test("records that are missing are listed, and are no corrupted places", async () => {
  const page = await open([{}], { missingCount: 2, missing: [["session s", "12 records of thread 3 are missing", 1000]] });
  assert(page.text("facts").includes("0 places corrupted"), page.text("facts"));
  assert(page.text("corruption").includes("Everything was read."));
  assert(page.text("corruption").includes("12 records of thread 3 are missing"));
  assert(page.text("corruption").includes("and 1 more"));
  assert.equal(page.text("tab-corruption"), " (2)");
});

test("the time that was asked for is shown, however long its sessions were", async () => {
  const page = await open([{ time: 5500 }], { since: 5000, until: 6000 });
  assert.deepEqual(Array.from(page.run("[range.first, range.last]")), [5000, 6000]);
  const open_ = await open([{ time: 5500 }], { since: 5000 });
  assert.deepEqual(Array.from(open_.run("[range.first, range.last]")), [5000, 9000]);
});

test("a duration has no unit full that the next one counts", async () => {
  const page = await open([{}]);
  for (const [ms, text] of [
    [9.9, "9.9 ms"], [999.4, "999 ms"], [999.5, "1.0 s"], [59_940, "59.9 s"], [59_960, "1 min 0 s"],
    [119_400, "1 min 59 s"], [119_600, "2 min 0 s"], [3_599_600, "1 h 0 min"], [7_190_000, "2 h 0 min"],
    [86_399_000, "1.0 days"],
  ]) assert.equal(page.run(`duration(${ms})`), text);
});

test("from a record that is filtered out, the next error and the next record are the ones behind it", async () => {
  const page = await open([2, 5, 2, 5, 2].map((level) => ({ level })));
  const choose = (index) => page.run(`choose(${index}, false)`);
  choose(2);
  page.run("filter.levels = 1 << 5");
  await page.run("update()");
  assert.deepEqual(page.shown(), [1, 3]);
  page.run("jump(1)");
  assert.equal(page.run("selected"), 3);
  for (const [step, found] of [["move(1)", 3], ["move(-1)", 1], ["jump(-1)", 1]]) {
    choose(2);
    page.run(step);
    assert.equal(page.run("selected"), found, step);
  }
  choose(1);
  page.run("move(1)");
  assert.equal(page.run("selected"), 3);
});

test("a text keeps the sign that it begins with", async () => {
  const page = await open([{ message: "\ufeffé" }, { message: "b" }]);
  assert.equal(JSON.parse(page.run("jsonOf(0)")).body, "\ufeffé");
});

test("nothing that was logged turns the direction of what stands beside it", async () => {
  const bad = "a\u202eb";
  const page = await open([{ message: "m", fields: `{"${bad}":"${bad}"}` }], {
    labels: [bad], threads: [[70, 1, bad]], sites: [[bad, bad, bad, 3, 1, 1, 2]],
    sessions: [session({ service: bad, process: bad, host: bad, ending: "crashed", crash: bad, stack: [`${bad}\n2`, `said: ${bad}`],
      losses: [[bad, 3, 1]] })],
    spans: [[0, 0, null, 2, bad, bad, bad, "1", ""]],
    corruptionCount: 1, corruption: [[bad, bad, null]], missingCount: 1, missing: [[bad, bad, null]],
  });
  page.run("choose(0, true)");
  page.element("spans").hidden = false;
  page.run("toggleFacets()");
  page.run(`addTerm("field", "${bad}", false, "${bad}")`);
  await page.run("update()");
  page.run("drawSpans()");
  page.run("showSpan(head.spans[0])");
  page.run("showTip({ clientX: 5, clientY: BARS + AXIS + 1 })");
  const texts = (element) => [element.title, element["aria-label"], ...element.children.flatMap((child) =>
    child.children ? texts(child) : [child])];
  for (const id of ["title", "tip", "rows", "detail", "terms", "facets", "spans", "span", "crashes", "sites", "sessions", "corruption",
    "label", "session"]) {
    const shown = texts(page.element(id)).filter((text) => typeof text === "string");
    assert(!shown.some((text) => text.includes("\u202e")), `${id}: ${shown.filter((text) => text.includes("\u202e"))}`);
  }
  assert(page.text("tip").includes("\\u{202e}") && page.text("facets").includes("\\u{202e}"));
  assert(page.text("crashes").includes("a\\u{202e}b\n2"), page.text("crashes"));
});
