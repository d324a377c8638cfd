/** The server itself. */
import { arch, platform, totalmem } from 'node:os';

export class SystemService {
  readonly #version: string;
  readonly #onStop: () => void;
  #cpu = { at: performance.now(), used: process.cpuUsage() };

  readonly #losses: { readonly count: number };

  /** `onStop` is called when a client asked for the end of the server and has its answer. */
  constructor(version: string, onStop: () => void, losses: { readonly count: number } = { count: 0 }) {
    this.#version = version;
    this.#onStop = onStop;
    this.#losses = losses;
  }

  get version(): string {
    return this.#version;
  }

  information(): Record<string, string | number> {
    return {
      version: this.#version,
      os: platform(),
      arch: arch(),
      upTimeSeconds: Math.floor(process.uptime()),
      cpuUsage: `${this.#cpuPercent().toFixed(2)}%`,
      memoryUsed: String(process.memoryUsage.rss()),
      memoryTotal: String(totalmem()),
      ...(this.#losses.count > 0 && { losses: this.#losses.count }),
    };
  }

  stop(): string {
    setImmediate(this.#onStop);
    return 'stop success';
  }

  /** Share of one core since the last question. */
  #cpuPercent(): number {
    const last = this.#cpu;
    this.#cpu = { at: performance.now(), used: process.cpuUsage() };
    const usedMs = (this.#cpu.used.user + this.#cpu.used.system - last.used.user - last.used.system) / 1000;
    return (100 * usedMs) / Math.max(1, this.#cpu.at - last.at);
  }
}
