/** Streams of Redis, tables of PostgreSQL and an HTTP server are killed under rows, with the engine killed as well. */
import { test } from 'uvu';
import { keeper } from '../../support/crash/chaos-keepers.js';
import { needsPostgres } from '../../support/servers/postgres.js';
import { needsRedis } from '../../support/servers/redis.js';

keeper('file-redisStream', needsRedis('chaos with Redis'));
keeper('file-sql', needsPostgres('chaos with PostgreSQL'));
keeper('file-rest', true);

test.run();
