/** A server of MessagePack-RPC. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { decodeMultiStream, encode } from '@msgpack/msgpack';

export type RpcMethods = Readonly<Record<string, (...params: unknown[]) => unknown>>;

export interface RpcServer {
  readonly port: number;
  /** Methods and parameters of the calls. */
  readonly asked: [method: string, params: unknown[]][];
  /** Ends it and its connections. */
  kill(): Promise<void>;
}

/** Serves methods; what one throws is the error of the call, what it never gives has no answer. */
export async function startRpc(methods: RpcMethods, port = 0): Promise<RpcServer> {
  const asked: RpcServer['asked'] = [];
  const sockets = new Set<Socket>();
  const serve = async (socket: Socket): Promise<void> => {
    for await (const message of decodeMultiStream<undefined>(socket, { useBigInt64: true })) {
      const [, id, method, params] = message as [number, number, string, unknown[]];
      asked.push([method, params]);
      const answer = (error: unknown, result: unknown) =>
        socket.write(encode([1, id, error, result], { useBigInt64: true }));
      Promise.resolve(params)
        .then((given) => methods[method]!(...given))
        .then(
          (result) => answer(null, result),
          (error: Error) => answer(error.message, null),
        );
    }
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    serve(socket).catch(() => socket.destroy());
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    kill: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
