//! The database file: every table as text, one transaction for each accepted call.

use std::path::Path;

use redb::{Database as File, ReadableDatabase as _, ReadableTable as _, TableDefinition};

use crate::tables::{Changes, Tables};

/// The format that this version reads and writes. A file with another one is refused.
const FORMAT: &str = "1";
const ABOUT: TableDefinition<&str, &str> = TableDefinition::new("about");

/// Why a database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read or written, is not a database, or is open elsewhere.
    #[error("the database cannot be opened: {0}")]
    Storage(#[from] redb::Error),
    /// Another version wrote it, or it is not ours.
    #[error("the database has the format `{found}`, and this version reads `{FORMAT}`")]
    Format { found: String },
    /// A record does not have the expected form.
    #[error("the database has a record in `{table}` that cannot be read, `{key}`: {reason}")]
    Record { table: &'static str, key: String, reason: serde_json::Error },
}

/// An open database. The file is locked as long as this lives.
pub(crate) struct Database {
    file: File,
}

impl Database {
    /// Opens or creates the file at `path`, and loads its content.
    pub(crate) fn open(path: &Path) -> Result<(Self, Tables), OpenError> {
        Self::load(File::create(path).map_err(redb::Error::from)?)
    }

    pub(crate) fn load(file: File) -> Result<(Self, Tables), OpenError> {
        let database = Self { file };
        database.check_format()?;
        let tables = database.read()?;
        Ok((database, tables))
    }

    /// Writes the format and all tables into a new file; checks the format of an old one.
    fn check_format(&self) -> Result<(), OpenError> {
        let transaction = self.file.begin_write().map_err(redb::Error::from)?;
        let names = transaction.list_tables().map_err(redb::Error::from)?;
        let new = names.count() == 0;
        {
            let mut about = transaction.open_table(ABOUT).map_err(redb::Error::from)?;
            if new {
                about.insert("format", FORMAT).map_err(redb::Error::from)?;
            }
            let found = about.get("format").map_err(redb::Error::from)?;
            let found = found.map_or_else(String::new, |found| found.value().to_owned());
            if found != FORMAT {
                return Err(OpenError::Format { found });
            }
            for name in Tables::NAMES {
                transaction.open_table(table(name)).map_err(redb::Error::from)?;
            }
        }
        transaction.commit().map_err(redb::Error::from)?;
        Ok(())
    }

    fn read(&self) -> Result<Tables, OpenError> {
        let transaction = self.file.begin_read().map_err(redb::Error::from)?;
        let mut tables = Tables::default();
        for name in Tables::NAMES {
            let rows = transaction.open_table(table(name)).map_err(redb::Error::from)?;
            for row in rows.iter().map_err(redb::Error::from)? {
                let (key, value) = row.map_err(redb::Error::from)?;
                let (key, value) = (key.value(), value.value());
                let unreadable =
                    |reason| OpenError::Record { table: name, key: key.to_owned(), reason };
                tables.load(name, key, value).map_err(unreadable)?;
            }
        }
        Ok(tables)
    }

    /// Writes all changes or none. When it returns `Ok`, they are on the disk.
    pub(crate) fn commit(&self, changes: &Changes) -> Result<(), redb::Error> {
        let transaction = self.file.begin_write()?;
        for change in changes.list() {
            let mut rows = transaction.open_table(table(change.table))?;
            match &change.value {
                Some(value) => rows.insert(change.key.as_str(), value.as_str())?,
                None => rows.remove(change.key.as_str())?,
            };
        }
        transaction.commit()?;
        Ok(())
    }
}

fn table(name: &str) -> TableDefinition<'_, &'static str, &'static str> {
    TableDefinition::new(name)
}
