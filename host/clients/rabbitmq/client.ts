/** Connections to RabbitMQ: sinks with the same settings share one. None connects again by itself. */
import type { Socket } from 'node:net';
import { type ChannelModel, connect, type SocketOptions } from 'amqplib';
import { reasonOf } from '../../base/errors.js';
import { timeLimit } from '../../base/time/time-limit.js';
import { type RabbitConf, rabbitAddress } from './connection.js';
import { rabbitClientErrors } from './errors.js';

export type { ChannelModel };

/** Certificates and keys as Node.js takes them. */
export type RabbitSecurity = Readonly<Record<string, unknown>>;

/** Longest wait for a connection to close, ms. */
const closeTimeoutMs = 1000;

/** Connects; calls `lost` when the connection is lost. */
export async function connectRabbit(
  conf: RabbitConf,
  tls: RabbitSecurity,
  lost: (reason: string) => void,
): Promise<ChannelModel> {
  const { isSecure, ...address } = rabbitAddress(conf);
  const { timeout, heartbeat } = conf;
  const options = {
    ...(isSecure ? tls : {}),
    timeout,
    noDelay: true,
    clientProperties: { connection_name: 'haumea' },
  } as SocketOptions;
  const settings = { ...address, protocol: isSecure ? 'amqps' : 'amqp', heartbeat: Math.round(heartbeat / 1000) };
  let model: ChannelModel;
  try {
    model = await connect(settings, options);
  } catch (error) {
    throw rabbitClientErrors.connection(reasonOf(error), { cause: error });
  }
  gatherWrites(socketOf(model));
  let reason = 'connection closed';
  model.on('error', (error: unknown) => {
    reason = reasonOf(error);
  });
  model.on('close', (error: unknown) => lost(error instanceof Error ? reasonOf(error) : reason));
  return model;
}

/** Closes, without waiting for a server that hangs. */
export async function closeRabbit(model: ChannelModel): Promise<void> {
  const closed = timeLimit(model.close(), closeTimeoutMs, rabbitClientErrors.late);
  // It is closed already, or its server hangs.
  await closed.catch(() => {});
  socketOf(model)?.destroy();
}

/** Connects once and disconnects; throws the reason when the server does not answer. */
export async function pingRabbit(conf: RabbitConf, tls: RabbitSecurity): Promise<void> {
  await closeRabbit(await connectRabbit(conf, tls, () => {}));
}

/** Resolves as the promise does; rejects when the server does not answer in time. */
export function answered<T>(promise: PromiseLike<T>, { timeout }: RabbitConf): Promise<T> {
  return timeLimit(Promise.resolve(promise), timeout, rabbitClientErrors.late);
}

/** The socket, which the library does not declare. */
function socketOf(model: ChannelModel): Socket | undefined {
  return (model.connection as { stream?: Socket }).stream;
}

/** What is written within one turn goes out together: the library writes each message by itself. */
function gatherWrites(socket: Socket | undefined): void {
  if (socket === undefined) return;
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  let isGathering = false;
  const gathered = (...args: unknown[]): boolean => {
    if (!isGathering) {
      isGathering = true;
      socket.cork();
      process.nextTick(() => {
        isGathering = false;
        socket.uncork();
      });
    }
    return write(...args);
  };
  socket.write = gathered as Socket['write'];
}
