//! Columns of text in Parquet files.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

use super::record::{RecordOrReason, Records, TextRecord};

/// A document a row: the text of a column. Each row adds its share of the file's bytes to `done`.
///
/// # Errors
/// If it is no Parquet file, or has no such column.
pub fn records(file: File, column: &str, done: &Arc<AtomicU64>) -> Result<Records, String> {
    let (bytes, done) = (file.metadata().map_or(0, |metadata| metadata.len()), Arc::clone(done));
    let reader = SerializedFileReader::new(file).map_err(|error| format!("it is no Parquet file ({error})"))?;
    let schema = reader.metadata().file_metadata().schema().clone();
    let rows_in_file = u64::try_from(reader.metadata().file_metadata().num_rows()).unwrap_or(0).max(1);
    let up_to = move |rows: usize| (bytes as f64 * rows as f64 / rows_in_file as f64) as u64;
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    let Some(field) = schema.get_fields().iter().find(|field| field.name() == column) else {
        let names = names.join(", ");
        return Err(format!("it has no column {column:?}; name one of {names} with --column"));
    };
    let projection = Type::group_type_builder(schema.name()).with_fields(vec![Arc::clone(field)]).build();
    let projection = projection.map_err(|error| format!("its columns cannot be read ({error})"))?;
    let rows = parquet::record::reader::RowIter::from_file_into(Box::new(reader)).project(Some(projection));
    let rows = rows.map_err(|error| format!("its columns cannot be read ({error})"))?;
    Ok(Box::new(rows.enumerate().map(move |(index, row)| -> RecordOrReason {
        done.fetch_add(up_to(index + 1) - up_to(index), Ordering::Relaxed);
        let fail = |reason: String| Err(format!("row {}: {reason}", index + 1));
        match row {
            Ok(row) => match row.get_column_iter().next() {
                Some((_, Field::Str(text))) => Ok(TextRecord { text: text.clone(), is_end: true }),
                _ => fail("its column is no text".into()),
            },
            Err(error) => fail(format!("it cannot be read ({error})")),
        }
    })))
}
