/** Whether the bytes of a connection go to the kernel as they come. */

export interface Subscription {
  readonly qos: number;
  readonly enableClientSession: boolean;
  readonly eofMessage: string;
  readonly decompression: string;
  readonly schemaRegistryUrl: string;
  readonly interval: number;
}

/**
 * A payload that ends the stream, is compressed, waits for its schema, or may be left out needs a look in JavaScript.
 * Without a session QoS 2 has nothing to remember over a connection, and the client library knows the rest of it.
 */
export function isRaw({ qos, enableClientSession, ...given }: Subscription): boolean {
  const { eofMessage, decompression, schemaRegistryUrl, interval } = given;
  const isWhole = eofMessage === '' && decompression === '' && schemaRegistryUrl === '' && interval === 0;
  return isWhole && (qos < 2 || enableClientSession);
}
