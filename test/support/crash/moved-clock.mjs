/**
 * Loaded before a program: its clock is off by the milliseconds that the file named by MOVED_CLOCK holds. Each thread
 * repeats in a file beside it, with its number behind a point, what it has taken from there.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { threadId } from 'node:worker_threads';

const clock = Date.now;
const file = process.env.MOVED_CLOCK;
let offset;
const read = () => {
  const text = readFileSync(file, 'utf8');
  const found = Number(text);
  // An empty file is one that is just being written.
  if (text === '' || found === offset) return;
  offset = found;
  writeFileSync(`${file}.${threadId}`, String(found));
};
read();
setInterval(read, 20).unref();
Date.now = () => clock() + offset;
