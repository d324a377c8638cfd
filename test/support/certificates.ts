/**
 * Certificates of a test: an authority certifies servers and clients, with keys on the curve P-256. They are made here,
 * so that no test needs a program for it.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './harness.js';

/** A certificate and its key: as texts in PEM, and in files. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
  readonly certFile: string;
  readonly keyFile: string;
  /** File with the key and the certificate. */
  readonly pemFile: string;
}

export interface Authority extends Certified {
  /** A certificate for 127.0.0.1 and localhost, or for another host alone. */
  server(host?: string): Certified;
  client(name: string): Certified;
}

const dayMs = 86_400_000;

/** An authority that nobody trusts who does not have its certificate. */
export function makeAuthority(name: string): Authority {
  const own = keyPair();
  const issue = (subject: string, key: KeyPair, extensions: Buffer[]) => {
    const cert = certificate({ subject, issuer: name, key, signedWith: own, extensions });
    return filed(cert, key.privatePem);
  };
  const constraints = extension(basicConstraints, sequence(Buffer.from([0x01, 0x01, 0xff])), true);
  // It signs certificates, and nothing else.
  const usage = extension(keyUsage, Buffer.from([0x03, 0x02, 0x01, 0x06]), true);
  const dns = (host: string) => tagged(0x82, Buffer.from(host));
  const here = [tagged(0x87, Buffer.from([127, 0, 0, 1])), dns('localhost')];
  return {
    ...issue(name, own, [constraints, usage]),
    server: (host) => {
      const names = host === undefined ? here : [dns(host)];
      return issue(host ?? 'localhost', keyPair(), [extension(subjectAltName, sequence(...names))]);
    },
    client: (subject) => issue(subject, keyPair(), []),
  };
}

interface KeyPair {
  /** The public key with its algorithm, DER. */
  readonly publicDer: Buffer;
  readonly privatePem: string;
}

function keyPair(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  return {
    publicDer: publicKey.export({ type: 'spki', format: 'der' }),
    privatePem: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  };
}

function filed(cert: string, key: string): Certified {
  const folder = temporaryFolder();
  const [certFile, keyFile, pemFile] = ['cert.pem', 'key.pem', 'both.pem'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(certFile, cert);
  writeFileSync(keyFile, key, { mode: 0o600 });
  writeFileSync(pemFile, key + cert);
  return { cert, key, certFile, keyFile, pemFile };
}

// Numbers of algorithms, names and extensions as X.509 has them, DER.
const ecdsaWithSha256 = Buffer.from('06082a8648ce3d040302', 'hex');
const commonName = Buffer.from('0603550403', 'hex');
const basicConstraints = Buffer.from('0603551d13', 'hex');
const keyUsage = Buffer.from('0603551d0f', 'hex');
const subjectAltName = Buffer.from('0603551d11', 'hex');

interface Wanted {
  readonly subject: string;
  readonly issuer: string;
  readonly key: KeyPair;
  readonly signedWith: KeyPair;
  readonly extensions: readonly Buffer[];
}

function certificate({ subject, issuer, key, signedWith, extensions }: Wanted): string {
  const algorithm = sequence(ecdsaWithSha256);
  const [from, to] = [Date.now() - dayMs, Date.now() + dayMs].map((ms) => time(new Date(ms))) as [Buffer, Buffer];
  const version = tagged(0xa0, Buffer.from([0x02, 0x01, 0x02]));
  // A positive number without leading zeros.
  const serial = tagged(0x02, Buffer.concat([Buffer.from([0x41]), randomBytes(8)]));
  const more = extensions.length === 0 ? [] : [tagged(0xa3, sequence(...extensions))];
  const content = sequence(
    version,
    serial,
    algorithm,
    nameOf(issuer),
    sequence(from, to),
    nameOf(subject),
    key.publicDer,
    ...more,
  );
  const signature = sign('sha256', content, signedWith.privatePem);
  const whole = sequence(content, algorithm, tagged(0x03, Buffer.concat([Buffer.from([0]), signature])));
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

function nameOf(text: string): Buffer {
  return sequence(tagged(0x31, sequence(commonName, tagged(0x0c, Buffer.from(text)))));
}

function extension(id: Buffer, value: Buffer, isCritical = false): Buffer {
  return sequence(id, ...(isCritical ? [Buffer.from([0x01, 0x01, 0xff])] : []), tagged(0x04, value));
}

function time(date: Date): Buffer {
  return tagged(0x17, Buffer.from(`${date.toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}
