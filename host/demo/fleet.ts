/** A simulated vehicle fleet: every vehicle drives, heats up and cools down, and sends its state. */

interface Vehicle {
  id: string;
  speed: number;
  target: number;
  temp: number;
  odometer: number;
}

/** Vehicles that take turns in reporting. */
export class Fleet {
  private readonly vehicles: Vehicle[];
  private turn = 0;

  constructor(
    count: number,
    private readonly random: () => number = Math.random,
  ) {
    this.vehicles = Array.from({ length: count }, (_, i) => ({
      id: `truck-${String(i + 1).padStart(3, '0')}`,
      speed: 60 * random(),
      target: 40 + 60 * random(),
      temp: 80,
      odometer: Math.round(random() * 200_000),
    }));
  }

  /** State of the next vehicle in turn, `seconds` after its last report. */
  report(seconds: number): { vehicle: string; payload: string } {
    const v = this.vehicles[this.turn] as Vehicle;
    this.turn = (this.turn + 1) % this.vehicles.length;
    // One vehicle in a thousand reports decides to hurry for a while: those are the ones the alert rule finds.
    if (this.random() < 0.001) v.target = 125 + 20 * this.random();
    else if (this.random() < 0.01) v.target = 30 + 70 * this.random();
    v.speed += (v.target - v.speed) * Math.min(1, seconds * 0.8) + (this.random() - 0.5);
    v.temp += (70 + v.speed * 0.25 - v.temp) * Math.min(1, seconds * 0.3);
    v.odometer += (v.speed / 3600) * seconds;
    const payload =
      `{"vehicle":"${v.id}","speed":${v.speed.toFixed(1)},"temp":${v.temp.toFixed(2)},` +
      `"odometer":${v.odometer.toFixed(3)},"ts":${Date.now()}}`;
    return { vehicle: v.id, payload };
  }
}
