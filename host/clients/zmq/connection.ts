/** The properties of a ZeroMQ socket. */
import { field } from '../../base/fields/field.js';

export const zmqServer = field
  .address()
  .required()
  .check(serverReason)
  .doc('Address: tcp://host:port, or ipc:// and the path of a socket');

/** Path of the socket of an address; undefined where it has none. */
export function socketPath(server: string): string | undefined {
  return server.startsWith('ipc://') ? server.slice('ipc://'.length) : undefined;
}

function serverReason(server: string): string | undefined {
  if (server.startsWith('ipc://')) return server.length > 'ipc://'.length ? undefined : 'names no path of a socket';
  const expected = 'must be an address such as tcp://127.0.0.1:5563';
  if (!server.startsWith('tcp://')) return `${expected}, or begin with ipc://`;
  return /^tcp:\/\/(\[[\da-f:.]+\]|[^\s:/]+):(\d{1,5}|\*)$/i.test(server) ? undefined : expected;
}
