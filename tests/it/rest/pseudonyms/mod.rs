//! Keys that show pseudonyms: every surface is called with one, and no byte of any answer is
//! anybody's id or name, number or address. The same calls with a key without pseudonyms do show
//! them. Routes and tools come from the tables of all of them: a new one fails here until the test
//! says how it is called.

mod echoes;
mod keys;
mod surfaces;
mod world;
