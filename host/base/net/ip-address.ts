/** Kinds of IP addresses: which ones are reachable from everywhere, and what the others are for. */
import { isIP } from 'node:net';
import type { IPv4, IPv6 } from 'ipaddr.js';
import { latePackage } from '../program/late-package.js';

/** The library for addresses. */
const ipaddr = latePackage<typeof import('ipaddr.js')>('ipaddr.js');

/** Kinds of addresses that are not public; a public address has `undefined`. */
export type AddressKind =
  | 'loopback'
  | 'private'
  | 'link-local'
  | 'metadata'
  | 'shared'
  | 'multicast'
  | 'unspecified'
  | 'reserved';

type Block = readonly [address: string, bits: number, kind: AddressKind];

/** The first block that holds an address decides, so single addresses stand before their networks. */
const blocks4: readonly Block[] = [
  // Addresses at which clouds hand out credentials to whoever asks from the machine.
  ['169.254.169.254', 32, 'metadata'],
  ['169.254.170.2', 32, 'metadata'],
  ['100.100.100.200', 32, 'metadata'],
  ['192.0.0.192', 32, 'metadata'],
  ['0.0.0.0', 8, 'unspecified'],
  ['10.0.0.0', 8, 'private'],
  ['100.64.0.0', 10, 'shared'],
  ['127.0.0.0', 8, 'loopback'],
  ['169.254.0.0', 16, 'link-local'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'reserved'],
  ['192.0.2.0', 24, 'reserved'],
  ['192.88.99.0', 24, 'reserved'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'reserved'],
  ['198.51.100.0', 24, 'reserved'],
  ['203.0.113.0', 24, 'reserved'],
  ['224.0.0.0', 4, 'multicast'],
  ['240.0.0.0', 4, 'reserved'],
];

const blocks6: readonly Block[] = [
  ['fd00:ec2::254', 128, 'metadata'],
  ['::1', 128, 'loopback'],
  ['::', 128, 'unspecified'],
  ['fc00::', 7, 'private'],
  ['fec0::', 10, 'private'],
  ['fe80::', 10, 'link-local'],
  ['ff00::', 8, 'multicast'],
  ['100::', 64, 'reserved'],
  ['2001::', 23, 'reserved'],
  ['2001:db8::', 32, 'reserved'],
  ['3fff::', 20, 'reserved'],
  ['5f00::', 16, 'reserved'],
];

/** Prefixes behind which an IPv4 address stands, with the place of its first byte. */
const carriers: readonly (readonly [prefix: string, bits: number, at: number])[] = [
  ['::ffff:0:0', 96, 12],
  ['::ffff:0:0:0', 96, 12],
  ['::', 96, 12],
  ['64:ff9b::', 96, 12],
  ['64:ff9b:1::', 48, 12],
  ['2002::', 16, 2],
];

/** Makes the tables above ready for comparing. */
function readNetworks() {
  const { IPv4, IPv6 } = ipaddr();
  return {
    v4: blocks4.map(([address, bits, kind]) => [IPv4.parse(address), bits, kind] as const),
    v6: blocks6.map(([address, bits, kind]) => [IPv6.parse(address), bits, kind] as const),
    carriers: carriers.map(([prefix, bits, at]) => [IPv6.parse(prefix), bits, at] as const),
  };
}

type Networks = ReturnType<typeof readNetworks>;

let networks: Networks | undefined;

/** Returns the kind of an address, `undefined` for a public one; a text that is no address counts as reserved. */
export function addressKind(text: string): AddressKind | undefined {
  // The library reads octal and shortened forms, too: what the system would not connect to is no address.
  if (isIP(text) === 0) return 'reserved';
  networks ??= readNetworks();
  const address = ipaddr().parse(text.split('%', 1)[0] as string);
  return address.kind() === 'ipv4' ? kindOf4(networks, address as IPv4) : kindOf6(networks, address as IPv6);
}

function kindOf4({ v4 }: Networks, address: IPv4): AddressKind | undefined {
  return v4.find(([network, bits]) => address.match(network, bits))?.[2];
}

function kindOf6(networks: Networks, address: IPv6): AddressKind | undefined {
  const own = networks.v6.find(([network, bits]) => address.match(network, bits))?.[2];
  if (own !== undefined) return own;
  const at = networks.carriers.find(([prefix, bits]) => address.match(prefix, bits))?.[2];
  return at === undefined ? undefined : kindOf4(networks, new (ipaddr().IPv4)(address.toByteArray().slice(at, at + 4)));
}
