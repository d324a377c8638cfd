/** Clocks of nodes that jump: a module that is loaded before the engine shifts its dates by what a file says. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const module = (file: string): string => `
import { readFileSync } from 'node:fs';
let offset = 0;
const look = () => {
  try { offset = Number(readFileSync(${JSON.stringify(file)}, 'utf8')) || 0; } catch {}
};
look();
setInterval(look, 100).unref();
const Real = Date;
globalThis.Date = class Date extends Real {
  constructor(...args) { args.length === 0 ? super(Real.now() + offset) : super(...args); }
  static now() { return Real.now() + offset; }
};
`;

export class Clock {
  readonly #file: string;
  /** Environment of the process whose clock it is. */
  readonly env: Readonly<Record<string, string>>;

  constructor(folder: string) {
    this.#file = join(folder, 'clock-offset');
    const path = join(folder, 'clock.mjs');
    this.jump(0);
    writeFileSync(path, module(this.#file));
    this.env = { NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${pathToFileURL(path)}`.trim() };
  }

  /** Sets it so far from the true time, ms. */
  jump(ms: number): void {
    writeFileSync(this.#file, String(ms));
  }
}
