/** Addresses of Redis servers. */

const secure = /^rediss:\/\//i;

/** Whether the connection has TLS. */
export function isSecureRedis(addr: string): boolean {
  return secure.test(addr);
}

/** Host and port of an address. */
export function redisHost(addr: string): { host: string; port: number } {
  const { hostname, port } = new URL(`redis://${addr.replace(/^rediss?:\/\//i, '')}`);
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 6379 : Number(port) };
}

/** The server, whatever the connection is otherwise. */
export function redisPeer(addr: string): string {
  const { host, port } = redisHost(addr);
  return `redis ${host}:${port}`;
}
