//! The program as a user runs it: one file a subject. Each test has a folder of its own; nothing here knows the library's
//! inside.

mod house;

mod ask;
mod errors;
mod first_minute;
mod kill;
mod manage;
mod output;
mod readme;
mod reconcile;
