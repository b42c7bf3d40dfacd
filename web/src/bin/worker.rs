fn main() {
    drope_web::worker::start();
}
