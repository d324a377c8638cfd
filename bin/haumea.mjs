#!/usr/bin/env node
/** Command line entry. In a checkout it first makes sure that packages and build are current. */
import { existsSync } from 'node:fs';

if (existsSync(new URL('../host/main.ts', import.meta.url))) {
  const { prepare } = await import('../tools/setup.mjs');
  try {
    await prepare();
  } catch (error) {
    console.error(`haumea: ${error.message}`);
    process.exit(1);
  }
}
// Newer versions of Node keep compiled code between starts.
(await import('node:module')).enableCompileCache?.();
await import('../dist/main.mjs');
