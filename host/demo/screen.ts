/**
 * What the demo shows: rates, the fleet's averages and the latest alerts; redrawn on a terminal, a line a second
 * elsewhere.
 */

export interface DemoFigures {
  /** Messages a second into the engine, results a second out of it. */
  inRate: number;
  outRate: number;
  totalIn: number;
  totalOut: number;
  averages: { vehicle: string; n: number; avg_speed: number; max_temp: number }[];
  alerts: string[];
}

const TOP = 6;

export class Screen {
  private drawn = 0;

  constructor(
    private readonly out: NodeJS.WriteStream,
    private readonly hints: string[],
  ) {}

  show(figures: DemoFigures): void {
    if (!this.out.isTTY) {
      const slowest = figures.averages[0];
      this.out.write(
        `in ${Math.round(figures.inRate)} msg/s, out ${Math.round(figures.outRate)} results/s, ` +
          `${slowest ? `fastest ${slowest.vehicle} at ${slowest.avg_speed.toFixed(1)} km/h` : 'no window yet'}, ` +
          `last alert: ${figures.alerts[0] ?? 'none yet'}\n`,
      );
      return;
    }
    const lines = [
      '',
      `  messages in   ${figures.inRate.toFixed(0).padStart(8)} /s   ` +
        `${figures.totalIn.toLocaleString('en').padStart(12)} in all`,
      `  results out   ${figures.outRate.toFixed(0).padStart(8)} /s   ` +
        `${figures.totalOut.toLocaleString('en').padStart(12)} in all`,
      '',
      '  rule "averages": SELECT … GROUP BY vehicle, TUMBLINGWINDOW(ss, 2): the fastest of the fleet',
      ...Array.from({ length: TOP }, (_, i) => {
        const row = figures.averages[i];
        return row
          ? `    ${row.vehicle}   ${String(row.n).padStart(4)} messages   ${row.avg_speed.toFixed(1).padStart(6)} ` +
              `km/h   ${row.max_temp.toFixed(1).padStart(6)} °C`
          : '';
      }),
      '',
      '  rule "alerts": SELECT … WHERE speed > 120',
      ...Array.from({ length: TOP }, (_, i) => (figures.alerts[i] ? `    ${figures.alerts[i]}` : '')),
      '',
      ...this.hints.map((hint) => `  ${hint}`),
    ];
    if (this.drawn > 0) this.out.write(`\x1b[${this.drawn}A`);
    const width = this.out.columns ?? 100;
    for (const line of lines) this.out.write(`\x1b[2K${line.slice(0, width - 1)}\n`);
    this.drawn = lines.length;
  }
}
