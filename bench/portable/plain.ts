/**
 * The same plugin beside a bare program in the place of the engine, which does no more than the protocol asks for: what
 * it reaches is what the SDK allows.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dialSp } from '../../host/clients/sp/dial.js';
import { frameHead } from '../../host/clients/sp/frames.js';
import { type SpConnection, SpListener, type SpUser } from '../../host/clients/sp/listener.js';
import { cpuMs, pause } from '../process.js';
import { type Figures, type Job, names, pluginProgram, sinkRow, sourceProps } from './job.js';

type Take = (connection: SpConnection, body: Buffer, header: Buffer) => void;

const context = JSON.stringify(JSON.stringify({ ruleId: 'bench', opId: 'plain', instanceId: 0, funcId: 0 }));
const part = { ruleId: 'bench', opId: 'plain', instanceId: 0 };
const dataPath = '/tmp/bench_plain_0.ipc';

function user(take: Take): SpUser {
  return { take, lost: () => {} };
}

/** Runs the plugin for one turn. */
export async function plainTurn(job: Job, env: Record<string, string>, done: string): Promise<Figures> {
  const control = new Control();
  const listener = await SpListener.open(`/tmp/plugin_${names.plugin}.ipc`, 'rep', 'req', user(control.take));
  const child = spawn('python3', ['-u', pluginProgram, '{}'], { env: { ...process.env, ...env }, stdio: 'ignore' });
  const ended = once(child, 'exit');
  try {
    await control.greeted;
    return await turns[job.kind](job, control, () => cpuMs(child.pid ?? 0), done);
  } finally {
    child.kill('SIGKILL');
    await ended;
    listener.close();
  }
}

/** The channel of commands: one at a time. */
class Control {
  #greet = () => {};
  readonly greeted = new Promise<void>((resolve) => {
    this.#greet = resolve;
  });
  #send: (text: string) => void = () => {};
  #answered: (() => void) | undefined;

  readonly take: Take = (connection, body, header) => {
    this.#send = (text) => connection.send(Buffer.from(text), header);
    this.#greet();
    if (body.toString() !== 'handshake') this.#answered?.();
  };

  start(symbolName: string, pluginType: string, config: object = {}): Promise<void> {
    const arg = JSON.stringify({ symbolName, pluginType, meta: part, datasource: '', config });
    this.#send(JSON.stringify({ cmd: 'start', arg }));
    return new Promise((resolve) => {
      this.#answered = resolve;
    });
  }
}

type Turn = (job: Job, control: Control, pluginMs: () => number, done: string) => Promise<Figures>;

const turns: Readonly<Record<Job['kind'], Turn>> = {
  function: async (job, control, pluginMs) => {
    let at = 0;
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const listener = await SpListener.open(
      `/tmp/func_${names.function}.ipc`,
      'rep',
      'req',
      user((connection, body, header) => {
        if (at > 0) JSON.parse(body.toString());
        if (at === job.rows) end();
        else connection.send(Buffer.from(`{"func":"Exec","arg":[${at++},${context}]}`), header);
      }),
    );
    const clock = new Clock(job, pluginMs);
    await control.start(names.function, 'func');
    await over;
    listener.close();
    return clock.figures();
  },

  source: async (job, control, pluginMs) => {
    let seen = 0;
    let end = () => {};
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    const take: Take = (_connection, body) => {
      JSON.parse(body.toString());
      if (++seen === job.rows) end();
    };
    const listener = await SpListener.open(dataPath, 'pull', 'push', user(take));
    const clock = new Clock(job, pluginMs);
    await control.start(names.source, 'source', sourceProps(job));
    await over;
    listener.close();
    return clock.figures();
  },

  sink: async (job, control, pluginMs, done) => {
    const acks = await SpListener.open(
      '/tmp/bench_plain_0_ack.ipc',
      'pull',
      'push',
      user(() => {}),
    );
    const clock = new Clock(job, pluginMs);
    await control.start(names.sink, 'sink', { path: done, rows: job.rows });
    const socket = await dialSp(`ipc://${dataPath}`, 'push', 'pull', () => {});
    for (let n = 0; n < job.rows; n++) {
      const message = Buffer.from(sinkRow(n));
      if (!socket.write(Buffer.concat([frameHead(message.length, true), message]))) await once(socket, 'drain');
    }
    while (!existsSync(done)) await pause(5);
    socket.destroy();
    acks.close();
    return clock.figures();
  },
};

class Clock {
  readonly #begin = performance.now();
  readonly #own = process.cpuUsage();
  readonly #plugin: number;

  constructor(
    private readonly job: Job,
    private readonly pluginMs: () => number,
  ) {
    this.#plugin = pluginMs();
  }

  figures(): Figures {
    const { rows } = this.job;
    const { user: ofUser, system } = process.cpuUsage(this.#own);
    return {
      perSecond: (rows / (performance.now() - this.#begin)) * 1000,
      engineUs: (ofUser + system) / rows,
      pluginUs: ((this.pluginMs() - this.#plugin) * 1000) / rows,
    };
  }
}
