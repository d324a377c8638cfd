/** Brokers of Kafka, NATS and RabbitMQ are killed under rows, with the engine killed as well. */
import { test } from 'uvu';
import { keeper } from '../../support/crash/chaos-keepers.js';
import { needsKafka } from '../../support/servers/kafka.js';
import { needsNats } from '../../support/servers/nats.js';
import { needsRabbit } from '../../support/servers/rabbitmq.js';

keeper('file-kafka', needsKafka('chaos with Kafka'));
keeper('file-nats', needsNats('chaos with NATS'));
keeper('file-rabbitmq', needsRabbit('chaos with RabbitMQ'));

test.run();
