//! Columns of text in Parquet files.

use std::fs::File;
use std::sync::Arc;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use parquet::schema::types::Type;

use super::record::{RecordOrReason, Records, TextRecord};

/// A document a row: the text of a column.
///
/// # Errors
/// If it is no Parquet file, or has no such column.
pub fn records(file: File, column: &str) -> Result<Records, String> {
    let reader = SerializedFileReader::new(file).map_err(|error| format!("it is no Parquet file ({error})"))?;
    let schema = reader.metadata().file_metadata().schema().clone();
    let names: Vec<&str> = schema.get_fields().iter().map(|field| field.name()).collect();
    let Some(field) = schema.get_fields().iter().find(|field| field.name() == column) else {
        let names = names.join(", ");
        return Err(format!("it has no column {column:?}; name one of {names} with --column"));
    };
    let projection = Type::group_type_builder(schema.name()).with_fields(vec![Arc::clone(field)]).build();
    let projection = projection.map_err(|error| format!("its columns cannot be read ({error})"))?;
    let rows = parquet::record::reader::RowIter::from_file_into(Box::new(reader)).project(Some(projection));
    let rows = rows.map_err(|error| format!("its columns cannot be read ({error})"))?;
    Ok(Box::new(rows.enumerate().map(|(index, row)| -> RecordOrReason {
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
