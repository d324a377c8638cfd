/** Watches kernels and host: rebuilds on a change and restarts the server. Arguments go to `haumea serve`. */
import { spawn } from 'node:child_process';
import { watch } from 'node:fs';
import { join } from 'node:path';
import { buildAll } from './build.mjs';
import { root } from './root.mjs';
import { isStale } from './stamp.mjs';

/** Editors write several files for one save. */
const settleMs = 150;

let server;
let timer;
let isBuilding = false;
let isEnding = false;

function start() {
  server = spawn(process.execPath, [join(root, 'dist/main.mjs'), 'serve', ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
}

/** Resolves when the running server is gone. */
function stop() {
  const running = server;
  server = undefined;
  if (running === undefined || running.exitCode !== null || running.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    running.once('exit', resolve);
    running.kill('SIGTERM');
  });
}

async function rebuild() {
  if (isBuilding || isEnding) return;
  isBuilding = true;
  try {
    while (isStale()) {
      await buildAll();
      await stop();
      start();
    }
  } catch (error) {
    console.error(`haumea: ${error.message}`);
  }
  isBuilding = false;
}

for (const folder of ['host', 'kernels', 'assembly', 'bench']) {
  watch(join(root, folder), { recursive: true }, (_event, name) => {
    if (name?.toString().startsWith('build')) return;
    clearTimeout(timer);
    timer = setTimeout(rebuild, settleMs);
  });
}
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, async () => {
    isEnding = true;
    await stop();
    process.exit(0);
  });
}
start();
