/** Loaded before a program: its clock is off by the milliseconds that the file named by MOVED_CLOCK holds. */
import { readFileSync } from 'node:fs';

const clock = Date.now;
let offset = 0;
const read = () => {
  offset = Number(readFileSync(process.env.MOVED_CLOCK, 'utf8'));
};
read();
setInterval(read, 20).unref();
Date.now = () => clock() + offset;
