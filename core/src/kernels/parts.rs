//! Parts of a kernel that do not need each other: with the feature `threads` they are shared among the caller's pool.

#[cfg(feature = "threads")]
use super::shared_time::counted;

/// With fewer products than this, a kernel would be done before another thread begins.
#[cfg(feature = "threads")]
const FEW: usize = 1 << 18;

/// The results of `work` for the parts, in order. `products` is the rough number of multiplications in all of them.
#[cfg_attr(not(feature = "threads"), allow(unused_variables, reason = "one thread takes them all"))]
pub(super) fn in_parts<I: Send, T: Send>(
    products: usize,
    parts: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync + Send,
) -> Vec<T> {
    #[cfg(feature = "threads")]
    if products >= FEW {
        use rayon::iter::{IntoParallelIterator, ParallelIterator};
        return counted(|| {
            if rayon::current_num_threads() == 1 {
                return parts.into_iter().map(work).collect();
            }
            let parts: Vec<I> = parts.into_iter().collect();
            parts.into_par_iter().map(work).collect()
        });
    }
    parts.into_iter().map(work).collect()
}

/// The result of `work`, counted where several threads would share it.
#[cfg_attr(not(feature = "threads"), allow(unused_variables, reason = "one thread does it all"))]
pub(super) fn counted_if<R>(is_shared: bool, work: impl FnOnce() -> R) -> R {
    #[cfg(feature = "threads")]
    if is_shared {
        return counted(work);
    }
    work()
}

/// The rough number of multiplications of a kernel over these sizes. Where `usize` has 32 bits, that of a long text is not one.
pub(super) fn products_of(sizes: &[usize]) -> usize {
    sizes.iter().fold(1, |products, &size| products.saturating_mul(size))
}

/// The results of `work` for parts of so many rows of a batch, in order; a row is worth a thread.
#[cfg(feature = "train")]
pub(crate) fn rows_in_threads<I: Send, T: Send>(
    rows: usize,
    parts: impl IntoIterator<Item = I>,
    work: impl Fn(I) -> T + Sync + Send,
) -> Vec<T> {
    in_parts(if rows > 1 { usize::MAX } else { 0 }, parts, work)
}

/// Threads of the caller's pool for what is computed on a device; a GPU has threads of its own.
#[cfg(feature = "train")]
#[cfg_attr(not(feature = "threads"), allow(unused_variables, reason = "there is one thread"))]
pub(crate) fn threads_for(device: &burn::tensor::Device) -> usize {
    #[cfg(feature = "threads")]
    if super::is_cpu(device) {
        return rayon::current_num_threads();
    }
    1
}

/// Joins panels of columns, each `[count, width]`, to `[count, columns]`; the last may have some columns too many.
pub(super) fn join_panels(panels: &[Vec<f32>], width: usize, [count, columns]: [usize; 2]) -> Vec<f32> {
    let mut joined = vec![0.0; count * columns];
    rows_in_parts(&mut joined, columns, |first, rows| {
        for (row, output) in rows.chunks_exact_mut(columns).enumerate() {
            for (output, numbers) in output.chunks_mut(width).zip(panels) {
                output.copy_from_slice(&numbers[(first + row) * width..][..output.len()]);
            }
        }
    });
    joined
}

/// Numbers of a part of an elementwise kernel.
pub(super) const NUMBERS_OF_PART: usize = 1 << 14;

/// Rows of a part of an elementwise kernel, each of `width` numbers.
pub(super) fn rows_of_part(width: usize) -> usize {
    NUMBERS_OF_PART.div_ceil(width)
}

/// Calls `work` with parts of the output and the row that each begins with. Rows have `width` numbers.
pub(super) fn rows_in_parts(output: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Sync + Send) {
    let rows = rows_of_part(width);
    in_parts(output.len(), output.chunks_mut(rows * width).enumerate(), |(part, output)| work(part * rows, output));
}
