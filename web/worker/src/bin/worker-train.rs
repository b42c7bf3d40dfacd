//! The worker that recalibrates, on the CPU, with gradients and optimizers.

fn main() {
    drope_worker::serve();
}
