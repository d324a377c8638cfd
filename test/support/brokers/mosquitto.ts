/** A real broker, as far as the machine has one: it sends at most so many unacknowledged messages at a time. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { MqttClient } from 'mqtt';
import { eventually, freePort, temporaryFolder } from '../harness.js';

const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

export const hasMosquitto = spawnSync('mosquitto', ['-h']).error === undefined;

export interface Mosquitto {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
  /** Ends it as a service is ended: it keeps on disk what it has confirmed, if it has a folder for that. */
  stop(): Promise<void>;
  /** It stays connected and does nothing any more, until it goes on. */
  pause(): void;
  resume(): void;
}

/**
 * Starts the broker on the port, or on a free one; `folder` keeps its sessions and messages over a stop. It queues what
 * it can't deliver without a bound. `options` are lines of its configuration.
 */
export async function openMosquitto(
  given?: number,
  folder?: string,
  options: readonly string[] = ['allow_anonymous true'],
): Promise<Mosquitto> {
  const port = given ?? (await freePort());
  const config = join(temporaryFolder(), 'mosquitto.conf');
  const persistence = folder === undefined ? '' : `persistence true\npersistence_location ${folder}/\n`;
  writeFileSync(
    config,
    `listener ${port} 127.0.0.1\n${options.join('\n')}\nmax_queued_messages 0\nuser root\n${persistence}`,
  );
  const child: ChildProcess = spawn('mosquitto', ['-c', config], { stdio: 'ignore' });
  children.add(child);
  await eventually('mosquitto', () => answers(port));
  const end = async (signal: NodeJS.Signals) => {
    children.delete(child);
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  };
  return {
    port,
    url: `tcp://127.0.0.1:${port}`,
    close: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

/** The broker takes so many messages of QoS 2 that are on their way, and closes connections with more. */
const sendWindow = 16;

/** Publishes the messages in their order; resolves when the broker has confirmed all. */
export async function publishAll(
  client: MqttClient,
  topic: string,
  payloads: readonly string[],
  qos: 1 | 2,
): Promise<void> {
  const atOnce = qos === 2 ? sendWindow : payloads.length;
  for (let from = 0; from < payloads.length; from += atOnce) {
    const part = payloads.slice(from, from + atOnce);
    await Promise.all(part.map((payload) => client.publishAsync(topic, payload, { qos })));
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
