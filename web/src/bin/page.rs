fn main() {
    drope_web::page::start();
}
