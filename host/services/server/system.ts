/** The server itself. */
import { arch, platform, totalmem } from 'node:os';
import type { Engine } from '../../model/engine.js';

export interface PlaneItem {
  readonly plane: number;
  readonly status: 'running' | 'stopped';
  readonly rules: number;
  /** Processor time of its rules since the question before, or of the last ten seconds, as a part of one processor. */
  readonly load: number;
  /** Rows of topics in memory that go to other data planes. */
  readonly exchanges: readonly ExchangeItem[];
}

export interface ExchangeItem {
  readonly plane: number;
  readonly status: 'ok' | 'ring full';
  readonly sentBytes: number;
  /** Bytes of these that no reader has taken yet. */
  readonly waitingBytes: number;
}

export class SystemService {
  readonly #version: string;
  readonly #onStop: () => void;
  #cpu = { at: performance.now(), used: process.cpuUsage() };

  readonly #losses: { readonly count: number };
  readonly #planes: Engine['planeFigures'];

  /** `onStop` is called when a client asked for the end of the server and has its answer. */
  constructor(version: string, onStop: () => void, losses: { readonly count: number }, planes: Engine['planeFigures']) {
    this.#version = version;
    this.#onStop = onStop;
    this.#losses = losses;
    this.#planes = planes;
  }

  /** The threads that run rules; which rules, their status tells. */
  async planes(): Promise<PlaneItem[]> {
    const planes = (await this.#planes?.()) ?? [];
    return planes.map(({ plane, isRunning, rules, load, exchanges }) => ({
      plane,
      status: isRunning ? 'running' : 'stopped',
      rules,
      load: Math.round(load * 1000) / 1000,
      exchanges: exchanges.map(({ isRingFull, ...figures }) => ({
        ...figures,
        status: isRingFull ? 'ring full' : 'ok',
      })),
    }));
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
