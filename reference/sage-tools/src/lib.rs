//! Tools: narrow, auditable actions on a workspace, and the runtime that lets them act.
//!
//! Others are judged beside this crate, so it is written to be read. A [`Registry`] knows tools by
//! their names; [`run`] is the way of one call: look the tool up, ask the policy, inject secrets,
//! validate, execute, redact. The clock, the graph, secrets and the listener to logs are the
//! caller's. What touches the disk stands behind [`Workspace`], and what starts programs in
//! `process`.
//!
//! # Contract
//! - TOOLS-001 A registered tool is found by its name, as it was registered: name, schema, description and version.
//! - TOOLS-002 The five standard tools are in the registry from the beginning, each with a schema.
//! - TOOLS-003 The schema of a standard tool is a JSON Schema that names the members of its input, with their types
//!   and which are required.
//! - TOOLS-004 getToolSchemas lists every tool of the registry, with its name, its parameters and, if it has one,
//!   its description.
//! - TOOLS-005 The parameters that getToolSchemas lists are the schema that the tool was registered with,
//!   unchanged.
//! - TOOLS-006 A name that no tool has is refused with EVALIDATION by get, validate and execute; names are compared
//!   letter by letter.
//! - TOOLS-007 A name that is taken already is refused with EVALIDATION, and the first tool stays.
//! - TOOLS-008 A tool whose name is missing or empty, or whose schema is no JSON Schema object, is refused with
//!   EVALIDATION and is not in the registry.
//! - TOOLS-009 getToolSchemas lists the tools in the same order each time.
//! - TOOLS-010 getToolSchemas lists the tools by name, whatever the order of registration.
//! - TOOLS-011 A tool gets the input that was given, once, and its ok and data are the result.
//! - TOOLS-012 A tool that answers ok: false hands on its error's code and message.
//! - TOOLS-013 A tool that throws a typed error answers ok: false with the code and the properties of that error.
//! - TOOLS-014 What a tool tells the logger of its context reaches that logger: ts, name, msg and data as they were
//!   told.
//! - TOOLS-015 The logger gets what the tool told it, in that order, and nothing else.
//! - TOOLS-016 A result that is not ok has an error with a code and a message, both texts.
//! - TOOLS-017 validate gives back input that fits the schema, unchanged.
//! - TOOLS-018 Input that lacks a required property is refused with EVALIDATION.
//! - TOOLS-019 A property of another type than the schema says is refused with EVALIDATION.
//! - TOOLS-020 What a schema says of values, lengths, limits, patterns, items and alternatives is enforced, with
//!   EVALIDATION.
//! - TOOLS-021 A property that the schema does not name is refused with EVALIDATION.
//! - TOOLS-022 A schema that allows further properties gets them.
//! - TOOLS-023 Properties that a nested object's schema does not name are refused, too.
//! - TOOLS-024 The error of validate has details, each with the name of a field and a reason.
//! - TOOLS-025 The details have an entry for every fault of the input.
//! - TOOLS-026 A fault inside an object or a list is named by its path, joined with dots, and a fault of the input
//!   as a whole by `input`.
//! - TOOLS-027 Input that does not fit is not executed: the result is ok: false with EVALIDATION.
//! - TOOLS-028 EVALIDATION in a result carries the details.
//! - TOOLS-029 The standard tools refuse input that lacks what they need, has it in another type, or has anything
//!   else, with EVALIDATION.
//! - TOOLS-030 GraphQuery answers with the rows of the graph, in their order.
//! - TOOLS-031 A query that finds nothing answers with no rows, and is no error.
//! - TOOLS-032 Parameters are data: whatever stands in them, the query means the same.
//! - TOOLS-033 The rows are those of the commit that the hint in the query or the member commit names.
//! - TOOLS-034 Queries that follow closely on each other do not disturb each other.
//! - TOOLS-035 The graph is asked once, with query, params and commit exactly as they were given.
//! - TOOLS-036 An error of the graph is the result's error, with its code and properties.
//! - TOOLS-037 Read gives the content of the file.
//! - TOOLS-038 Read adds, drops and changes nothing: a byte order mark, line ends and control characters stay.
//! - TOOLS-039 Reading a file that does not exist answers ok: false with EIO.
//! - TOOLS-040 EIO of Read carries the operation read and the path as it was given.
//! - TOOLS-041 Reading a file that is not UTF-8 answers with EIO.
//! - TOOLS-042 A file of more than 16 MiB is answered with EIO; one of a megabyte is read whole.
//! - TOOLS-043 Reading what is no regular file, a folder or a fifo, is refused at once with EIO or EPERMISSION.
//! - TOOLS-044 Read gives nothing from outside of the workspace: the path is refused with EPERMISSION, resource and
//!   operation read.
//! - TOOLS-045 Write leaves the file with exactly the content given, whether it existed or not.
//! - TOOLS-046 bytes is the number of bytes that the file then has.
//! - TOOLS-047 Write makes the folders that are missing on the way.
//! - TOOLS-048 Write and Edit replace a file as a whole: its mode stays, no other name for it is written through,
//!   and no temporary file is left, whether it succeeds or not.
//! - TOOLS-049 Writing to a folder answers with EIO, and to a fifo with EIO or EPERMISSION, at once, and leaves it
//!   as it was.
//! - TOOLS-050 Edit answers with patched, a boolean, and diff, if it is there, a string.
//! - TOOLS-051 A unified diff of one hunk or several that fits the file is applied.
//! - TOOLS-052 A hunk whose lines have moved is applied where they are now, the nearest place first.
//! - TOOLS-053 A patch that does not fit, to the letter, is refused with EVALIDATION, and the file stays as it was.
//! - TOOLS-054 All hunks are applied or none.
//! - TOOLS-055 Whether the last line ends with a newline is as the patch says.
//! - TOOLS-056 Line ends, tabs and characters beyond ASCII come out as they stand in the file and the patch.
//! - TOOLS-057 A patch from /dev/null makes a new file, and is refused with EVALIDATION if the file exists.
//! - TOOLS-058 A patch to /dev/null deletes the file, if it holds exactly what the patch takes away.
//! - TOOLS-059 File headers may be missing, and git's further headers, times and index lines change nothing.
//! - TOOLS-060 Text around the patch, as mails have it, changes nothing.
//! - TOOLS-061 A hunk that begins at line 1 fits at the beginning alone, and one without context behind its change
//!   at the end alone.
//! - TOOLS-062 A patch of more than one file is refused with EVALIDATION, and nothing is changed.
//! - TOOLS-063 What is no unified diff is refused with EVALIDATION, and the file stays as it was.
//! - TOOLS-064 Editing a file that does not exist answers with EIO and does not make it.
//! - TOOLS-065 With strategy check nothing is changed, whether the patch fits or not.
//! - TOOLS-066 With strategy check, patched says whether the patch fits.
//! - TOOLS-067 Bash runs the program and answers with its code, its stdout and its stderr.
//! - TOOLS-068 The program runs in the workspace.
//! - TOOLS-069 The variables of the context's env reach the program.
//! - TOOLS-070 command is a program and args are its arguments, each as it is: no shell reads them.
//! - TOOLS-071 The program sees the context's env and nothing else.
//! - TOOLS-072 A command without a slash is looked up in the context's PATH, or in /usr/bin and /bin if it has
//!   none.
//! - TOOLS-073 stdin is empty.
//! - TOOLS-074 A code other than 0 is an answer like any other, with ok: true; an end by signal n is code 128+n.
//! - TOOLS-075 A program that cannot be started answers with EIO and the operation.
//! - TOOLS-076 Output that is not UTF-8 comes with replacement characters.
//! - TOOLS-077 Output is bounded: beyond 1 MiB a stream it is cut, and a mark with the word truncated says so; the
//!   program goes on. Below, it comes whole.
//! - TOOLS-078 A program that runs for longer than timeoutMs is ended, and the answer is ETIMEOUT; one that ends in
//!   time is not touched.
//! - TOOLS-079 ETIMEOUT in a result carries timeoutMs, as it was given, elapsedMs and the operation.
//! - TOOLS-080 After a time-out nothing that the program started is alive.
//! - TOOLS-081 What the program left in the background neither outlives the call nor makes it wait.
//! - TOOLS-082 A timeoutMs that is no positive integer is refused with EVALIDATION.
//! - TOOLS-083 Programs that run at the same time do not disturb each other: each has its output, and one's end or
//!   time-out is not the other's.
//! - TOOLS-084 GraphQuery and Read need no permission.
//! - TOOLS-085 Write, Edit and Bash without permission are refused with EPERMISSION, and nothing is done.
//! - TOOLS-086 EPERMISSION in a result carries the resource, the operation and the policy.
//! - TOOLS-087 A permission is a tool's name, letter by letter, and is for that tool alone.
//! - TOOLS-088 A registered tool needs no permission.
//! - TOOLS-089 Without permission no secret is fetched.
//! - TOOLS-090 Whatever the path, Write and Edit make and change nothing outside of the workspace.
//! - TOOLS-091 A file that has another name outside of the workspace or in .sage/, a hard link, is refused or
//!   replaced, and never written through.
//! - TOOLS-092 A link that is put in place while a write is under way does not lead out either.
//! - TOOLS-093 A path that leads out of the workspace, absolute or by `..` or by links, is refused with
//!   EPERMISSION, the path as resource and write as operation.
//! - TOOLS-094 A path that is empty or has a NUL is refused with EVALIDATION.
//! - TOOLS-095 A path whose `..` or links stay inside the workspace is refused with EPERMISSION, or taken for the
//!   file that it names.
//! - TOOLS-096 Every other name is legal: spaces, dots, letters beyond ASCII, names that begin with a dash.
//! - TOOLS-097 Write and Edit below .sage/ are refused, a Write with EPERMISSION, and nothing there is made,
//!   changed or deleted.
//! - TOOLS-098 No detour, by `..`, doubled slashes or links, makes or changes anything in .sage/.
//! - TOOLS-099 .sage itself cannot be written, as a file or as a link.
//! - TOOLS-100 Names that some file systems take for .sage are refused with EPERMISSION: other case, full-width or
//!   ignorable characters, dots or spaces at the end.
//! - TOOLS-101 A folder .sage inside another folder is protected, too.
//! - TOOLS-102 Folders whose names merely resemble it, such as sage or .sages, are ordinary.
//! - TOOLS-103 A dry run of Write, Edit or Bash changes nothing and starts nothing, and answers with a preview.
//! - TOOLS-104 The same dry run gives the same preview.
//! - TOOLS-105 The preview has the shape of the real data: bytes as they would be, patched: true, code 0 with
//!   stdout and stderr.
//! - TOOLS-106 What would be refused is refused in a dry run, too, in the same way.
//! - TOOLS-107 With a secret provider, `$ENV.NAME` in the input is replaced by the secret before the tool is
//!   executed.
//! - TOOLS-108 Placeholders are found in every string, at any depth, and several in one.
//! - TOOLS-109 The provider is asked for the names that stand in the input of this call, and for no others.
//! - TOOLS-110 A secret that the provider does not have, or fails to give, ends the call with EPERMISSION or
//!   ESECRET_NOT_FOUND, and the tool is not executed.
//! - TOOLS-111 Without a secret provider the input stays as it is.
//! - TOOLS-112 A name is the longest run of letters, digits and underscores after `$ENV.`, and does not begin with
//!   a digit; anything else is no placeholder.
//! - TOOLS-113 A name that stands in several places is fetched once a call, or once for each place, and every place
//!   gets the secret.
//! - TOOLS-114 Keys are not scanned.
//! - TOOLS-115 A secret that holds a placeholder itself is taken as it is.
//! - TOOLS-116 An empty secret is a secret.
//! - TOOLS-117 What is validated is the input with its secrets.
//! - TOOLS-118 A missing secret is ESECRET_NOT_FOUND with the name as resource.
//! - TOOLS-119 A secret as it is does not appear in stdout or stderr.
//! - TOOLS-120 A secret as it is does not appear in the values of a result's data.
//! - TOOLS-121 A secret as it is does not appear in logs.
//! - TOOLS-122 A secret does not appear in a dry run's preview.
//! - TOOLS-123 A secret does not appear in a result's error.
//! - TOOLS-124 A secret does not appear in the keys of data and logs.
//! - TOOLS-125 No line of a secret of several lines appears alone.
//! - TOOLS-126 Where secrets overlap or hold each other, no part of one stays.
//! - TOOLS-127 A secret does not appear as JSON writes it inside a text, with its quotes and backslashes escaped.
//! - TOOLS-128 Where output is cut, no beginning of a secret stays.
//! - TOOLS-129 What is no secret stays as it is.
//! - TOOLS-130 In place of a secret stands `[SECRET:NAME]`.
//! - TOOLS-131 meta, if it is there, has startedAt and endedAt as the injected clock gives them, the one no later
//!   than the other, and durationMs, a number.
//! - TOOLS-132 meta is there; the clock is read once before and once after, and durationMs is the difference.
//! - TOOLS-133 Names and descriptions of tools may have letters beyond ASCII.
//! - TOOLS-134 Schemas are JSON Schema 2020-12: keywords of that version are enforced as well.
//! - TOOLS-135 A schema of an object that names no properties, and does not say that others are allowed, allows
//!   none.
//! - TOOLS-136 GraphQuery is read-only: no query changes the graph.
//! - TOOLS-137 An Edit below .sage/ is refused with EPERMISSION, whatever its patch and whether or not the file is
//!   there.
//!
//! Decided here: `..` in a path is refused even where it would stay inside, since where it leads
//! depends on links. Links inside the workspace are followed. A program without `timeoutMs` has ten
//! minutes.
//!
//! Left open: the wording of messages; what a dry run prints; whether folders that were made stay
//! when a write then fails.

mod patch;
mod process;
mod redact;
mod registry;
mod result;
mod runtime;
mod schema;
mod secrets;
mod standard;
mod tool;
mod workspace;

pub use registry::{Registered, Registry};
pub use result::{Meta, ToolError, ToolResult};
pub use runtime::run;
pub use schema::InputSchema;
pub use standard::{Bash, Edit, Graph, GraphQuery, Read, Write};
pub use tool::{Access, Logger, Tool, ToolContext, ToolLog};
pub use workspace::Workspace;
