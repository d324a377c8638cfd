/** The temperature that people feel (heat index, °C) at a temperature (°C) and a relative humidity (%). */
export function heat_index(celsius: f64, humidity: f64): f64 {
  const t = celsius * 1.8 + 32;
  const simple = 0.5 * (t + 61 + (t - 68) * 1.2 + humidity * 0.094);
  const feels = (simple + t) / 2 < 80 ? simple : rothfusz(t, humidity);
  return Math.round(((feels - 32) / 1.8) * 100) / 100;
}

/** 0: none, 1: caution, 2: extreme caution, 3: danger, 4: extreme danger. */
export function heat_level(index: f64): i32 {
  if (index < 27) return 0;
  if (index < 32) return 1;
  if (index < 41) return 2;
  return index < 54 ? 3 : 4;
}

function rothfusz(t: f64, h: f64): f64 {
  return (
    -42.379 +
    2.04901523 * t +
    10.14333127 * h -
    0.22475541 * t * h -
    0.00683783 * t * t -
    0.05481717 * h * h +
    0.00122874 * t * t * h +
    0.00085282 * t * h * h -
    0.00000199 * t * t * h * h
  );
}
