/** Calls a socket of SP. */
import { connect, type Socket } from 'node:net';
import { reasonOf } from '../../base/errors.js';
import { spTarget } from './address.js';
import { spErrors } from './errors.js';
import { helloOf, type SpProtocol, SpReader } from './frames.js';

const connectTimeoutMs = 10_000;

/** Resolves with a socket behind the hello of the other side, which must speak `peer`. */
export function dialSp(
  url: string,
  own: SpProtocol,
  peer: SpProtocol,
  take: (message: Buffer) => void,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(spTarget(url));
    const fail = (error: unknown) => {
      clearTimeout(timer);
      socket.destroy();
      reject(spErrors.connection(reasonOf(error), { cause: error }));
    };
    const timer = setTimeout(() => fail(new Error(`no answer in ${connectTimeoutMs} ms`)), connectTimeoutMs);
    const ended = () => fail(new Error('the other side has ended the connection'));
    const greeted = () => {
      clearTimeout(timer);
      socket.off('error', fail).off('close', ended);
      resolve(socket);
    };
    const reader = new SpReader(url.startsWith('ipc'), peer, greeted, take);
    socket.on('error', fail).on('close', ended);
    socket.on('connect', () => socket.write(helloOf(own)));
    socket.on('data', (bytes) => {
      try {
        reader.read(bytes);
      } catch (error) {
        if (socket.listeners('error').includes(fail)) fail(error);
        else socket.destroy(error as Error);
      }
    });
  });
}
