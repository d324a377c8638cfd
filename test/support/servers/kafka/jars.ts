/**
 * The jars of a Kafka broker, in a cache of the user. Run as a program it fetches them once, by Maven:
 * `npx tsx test/support/servers/kafka/jars.ts`.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const pomName = 'test/support/servers/kafka/pom.xml';
const pom = pomAbove(dirname(fileURLToPath(import.meta.url)));
const plugin = 'org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies';
const attempts = 4;

/** The file of the checkout that the folder is in: the bench is bundled into a folder of its own. */
function pomAbove(folder: string): string {
  const path = join(folder, pomName);
  return existsSync(path) || dirname(folder) === folder ? path : pomAbove(dirname(folder));
}

/** Folder of the jars; there only when they are complete. */
export function jarFolder(): string {
  const version = /<artifactId>kafka_2\.13<\/artifactId>\s*<version>([^<]+)</.exec(readFileSync(pom, 'utf8'))![1];
  return join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'haumea', `kafka-${version}`);
}

async function fetchJars(): Promise<boolean> {
  const folder = jarFolder();
  if (existsSync(folder)) return true;
  const part = `${folder}.${process.pid}`;
  mkdirSync(part, { recursive: true });
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const options = ['-q', '-B', '-f', pom, plugin, '-DincludeScope=runtime', `-DoutputDirectory=${part}`];
    const { status, error } = spawnSync('mvn', options, { stdio: 'inherit' });
    if (status === 0) {
      if (!existsSync(folder)) renameSync(part, folder);
      rmSync(part, { recursive: true, force: true });
      return true;
    }
    console.error(`fetching Kafka failed (attempt ${attempt})${error === undefined ? '' : `: ${error.message}`}`);
    await new Promise((resolve) => setTimeout(resolve, attempt * 5000));
  }
  rmSync(part, { recursive: true, force: true });
  return false;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exit((await fetchJars()) ? 0 : 1);
