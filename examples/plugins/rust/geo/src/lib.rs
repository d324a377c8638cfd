//! Distances on the earth.

const EARTH_KM: f64 = 6371.0088;

/// Kilometres between two places (degrees) along a great circle.
#[no_mangle]
pub extern "C" fn distance_km(lat1: f64, lon1: f64, lat2: f64, lon2: f64) -> f64 {
    let (a, b) = (lat1.to_radians(), lat2.to_radians());
    let half_lat = (b - a) / 2.0;
    let half_lon = (lon2 - lon1).to_radians() / 2.0;
    let h = half_lat.sin().powi(2) + a.cos() * b.cos() * half_lon.sin().powi(2);
    2.0 * EARTH_KM * h.sqrt().min(1.0).asin()
}

/// Course (degrees from north) from the first place to the second.
#[no_mangle]
pub extern "C" fn course(lat1: f64, lon1: f64, lat2: f64, lon2: f64) -> f64 {
    let (a, b) = (lat1.to_radians(), lat2.to_radians());
    let d = (lon2 - lon1).to_radians();
    let (y, x) = (d.sin() * b.cos(), a.cos() * b.sin() - a.sin() * b.cos() * d.cos());
    (y.atan2(x).to_degrees() + 360.0) % 360.0
}
