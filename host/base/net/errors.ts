/** Refusals of ports and their certificates. */
import { errorTable } from '../errors.js';

export const portErrors = errorTable('port', {
  unreadable: ['config', (file: string, reason: string) => `${file} can't be read: ${reason}`],
  incomplete: ['config', (where: string) => `${where} needs both certfile and keyfile`],
  badPair: ['config', (reason: string) => `certificate and key can't be used: ${reason}`],
  noPort: [
    'general',
    (what: string, ip: string, port: number, reason: string) => `${what} can't listen on ${ip}:${port}: ${reason}`,
  ],
});
