/** Warnings about the configuration: unprotected access, and settings without effect. */

import { unusedIn } from '../fields/field.js';
import type { Config } from './config.js';
import { configSpec } from './config-spec.js';

/** A sentence each. */
export function configWarnings(config: Config): string[] {
  const { restIp, restPort, authentication, corsOrigins } = config.basic;
  const isLocal = restIp === 'localhost' || restIp === '::1' || restIp.startsWith('127.');
  return [
    ...(isLocal || authentication
      ? []
      : [`REST is open to the network on ${restIp}:${restPort} without authentication`]),
    ...(authentication || !corsOrigins.includes('*')
      ? []
      : ['basic.corsOrigins lets every web page command the server without authentication']),
    ...unusedIn(configSpec, config).map((name) => `the setting ${name} has no effect`),
  ];
}
