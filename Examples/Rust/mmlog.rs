//! mmlog.h for Rust: as much of it as a service needs.
//!
//! `log!(logger, Level::Info, "order {} accepted", id)` makes its text only if the level is recorded, and
//! `log!(logger, Level::Info, {"order": id, "venue": "XETRA"}, "accepted")` adds fields with their types.

use std::cell::UnsafeCell;
use std::ffi::{c_void, CStr, CString};
use std::os::raw::{c_char, c_int};
use std::sync::atomic::{AtomicU32, Ordering};

#[repr(i32)]
#[derive(Clone, Copy)]
#[allow(dead_code)]
pub enum Level {
    Trace = 1,
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
}

/// What is known of a log statement. Static; the library fills in the rest.
#[repr(C)]
pub struct Site {
    file: *const c_char,
    function: *const c_char,
    line: u32,
    state: UnsafeCell<u32>,
    plan: UnsafeCell<[u16; 16]>,
}

// The library changes a site by atomic operations.
unsafe impl Sync for Site {}

impl Site {
    /// `file` and `module` end with a zero byte.
    pub const fn new(file: &'static str, module: &'static str, line: u32) -> Site {
        Site {
            file: file.as_ptr() as *const c_char,
            function: module.as_ptr() as *const c_char,
            line,
            state: UnsafeCell::new(0),
            plan: UnsafeCell::new([0; 16]),
        }
    }
}

#[repr(C)]
union Value {
    integer: i64,
    number: f64,
    text: *const c_char,
}

/// mmlog_field. It borrows what it points to.
#[repr(C)]
pub struct Field<'a> {
    name: *const c_char,
    kind: c_int,
    length: usize,
    value: Value,
    borrowed: std::marker::PhantomData<&'a str>,
}

impl<'a> Field<'a> {
    /// `name` ends with a zero byte.
    pub fn new(name: &'static str, value: impl Into<FieldValue<'a>>) -> Field<'a> {
        let (kind, length, value) = match value.into() {
            FieldValue::Integer(integer) => (1, 0, Value { integer }),
            FieldValue::Number(number) => (3, 0, Value { number }),
            FieldValue::Bool(value) => (4, 0, Value { integer: value as i64 }),
            FieldValue::Text(text) => (5, text.len(), Value { text: text.as_ptr() as *const c_char }),
        };
        let name = name.as_ptr() as *const c_char;
        Field { name, kind, length, value, borrowed: std::marker::PhantomData }
    }
}

pub enum FieldValue<'a> {
    Integer(i64),
    Number(f64),
    Bool(bool),
    Text(&'a str),
}

impl From<i64> for FieldValue<'_> {
    fn from(value: i64) -> Self {
        FieldValue::Integer(value)
    }
}
impl From<f64> for FieldValue<'_> {
    fn from(value: f64) -> Self {
        FieldValue::Number(value)
    }
}
impl From<bool> for FieldValue<'_> {
    fn from(value: bool) -> Self {
        FieldValue::Bool(value)
    }
}
impl<'a> From<&'a str> for FieldValue<'a> {
    fn from(value: &'a str) -> Self {
        FieldValue::Text(value)
    }
}

/// The first members of mmlog_options: `size` says that there are no more.
#[repr(C)]
struct Options {
    size: usize,
    directory: *const c_char,
    name: *const c_char,
}

#[repr(C)]
struct Failure {
    code: c_int,
    system_error: c_int,
    message: [c_char; 1008],
}

#[repr(C)]
struct RawLogger {
    level: AtomicU32,
}

extern "C" {
    fn mmlog_open(options: *const Options, failure: *mut Failure) -> *mut c_void;
    fn mmlog_close(store: *mut c_void, failure: *mut Failure) -> c_int;
    fn mmlog_get_logger(store: *mut c_void, label: *const c_char) -> *const RawLogger;
    fn mmlog_record_fields(
        logger: *const RawLogger, level: c_int, site: *const Site, fields: *const Field, count: usize, format: *const c_char, ...
    );
}

/// A directory of logs, and this process's place in it.
pub struct Store(*mut c_void);

impl Store {
    /// Opens a store. The error says what failed and how to fix it.
    pub fn open(directory: &str, name: &str) -> Result<Store, String> {
        let directory = CString::new(directory).map_err(|error| error.to_string())?;
        let name = CString::new(name).map_err(|error| error.to_string())?;
        let options = Options { size: std::mem::size_of::<Options>(), directory: directory.as_ptr(), name: name.as_ptr() };
        let mut failure = Failure { code: 0, system_error: 0, message: [0; 1008] };
        let store = unsafe { mmlog_open(&options, &mut failure) };
        if store.is_null() { Err(failure.text()) } else { Ok(Store(store)) }
    }

    /// The logger of a label, which stays valid for ever. Keep it.
    pub fn logger(&self, label: &str) -> Logger {
        let label = c_text(label);
        Logger(unsafe { mmlog_get_logger(self.0, label.as_ptr()) })
    }

    /// Moves all records to archives and syncs these. A process that ends without it loses nothing.
    pub fn close(self) -> Result<(), String> {
        let mut failure = Failure { code: 0, system_error: 0, message: [0; 1008] };
        let status = unsafe { mmlog_close(self.0, &mut failure) };
        if status == 0 { Ok(()) } else { Err(failure.text()) }
    }
}

impl Failure {
    fn text(&self) -> String {
        unsafe { CStr::from_ptr(self.message.as_ptr()) }.to_string_lossy().into_owned()
    }
}

#[derive(Clone, Copy)]
pub struct Logger(*const RawLogger);

// Loggers are never freed, and may be used by any thread.
unsafe impl Send for Logger {}
unsafe impl Sync for Logger {}

impl Logger {
    pub fn is_enabled(&self, level: Level) -> bool {
        // Acquire: who sees the level of a single statement that was turned on sees which one it
        // is, too.
        level as u32 > unsafe { &(*self.0).level }.load(Ordering::Acquire)
    }

    /// Called by `log!`.
    pub fn record(&self, level: Level, site: &'static Site, fields: &[Field], text: &str) {
        let text = c_text(text);
        let format = b"%s\0".as_ptr() as *const c_char;
        unsafe { mmlog_record_fields(self.0, level as c_int, site, fields.as_ptr(), fields.len(), format, text.as_ptr()) }
    }
}

/// Text for C: a zero byte would end it.
fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\\0")).unwrap_or_default()
}

#[macro_export]
macro_rules! log {
    ($logger:expr, $level:expr, {$($name:literal: $value:expr),* $(,)?}, $($message:tt)+) => {{
        static SITE: $crate::mmlog::Site =
            $crate::mmlog::Site::new(concat!(file!(), "\0"), concat!(module_path!(), "\0"), line!());
        if $logger.is_enabled($level) {
            let fields = [$($crate::mmlog::Field::new(concat!($name, "\0"), $value)),*];
            $logger.record($level, &SITE, &fields, &format!($($message)+));
        }
    }};
    ($logger:expr, $level:expr, $($message:tt)+) => { $crate::log!($logger, $level, {}, $($message)+) };
}
