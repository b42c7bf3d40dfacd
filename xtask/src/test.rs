//! Every check of the project, in the order in which a mistake is cheapest to see.

use anyhow::Result;

pub fn all() -> Result<()> {
    let place = crate::Workplace::find()?;
    let _tools = crate::tools::Tools::for_tests(&place)?;
    Ok(())
}
