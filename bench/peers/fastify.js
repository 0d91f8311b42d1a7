import rateLimit from '@fastify/rate-limit';
import Database from 'better-sqlite3';
import Fastify from 'fastify';
import { notFound, storeOf, unauthorized } from './store.js';

const [port, path] = process.argv.slice(2);
const store = storeOf(new Database(path));
const fastify = Fastify();

const status = { type: 'string', enum: ['available', 'pending', 'sold'] };
const newPet = {
  type: 'object',
  required: ['name', 'categoryId'],
  additionalProperties: false,
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 255 },
    categoryId: { type: 'integer' },
    status,
  },
};
const pet = {
  type: 'object',
  properties: {
    id: { type: 'integer' },
    name: { type: 'string' },
    categoryId: { type: 'integer' },
    status: { type: 'string' },
  },
};
const listQuery = {
  type: 'object',
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20 },
    status,
    minId: { type: 'integer' },
  },
};
const petParams = { type: 'object', properties: { petId: { type: 'integer' } } };

fastify.decorateRequest('caller', null);
fastify.addHook('onRequest', async (request, reply) => {
  request.caller = store.findCaller(request.headers.authorization);
  if (request.caller === undefined) return reply.code(401).send(unauthorized);
});

await fastify.register(rateLimit, {
  max: (request) => request.caller.perMinute,
  keyGenerator: (request) => request.caller.key,
  timeWindow: '1 minute',
});

fastify.get(
  '/v1/pets',
  { schema: { querystring: listQuery, response: { 200: { type: 'array', items: pet } } } },
  async ({ query }) => store.list(query.limit, query.status, query.minId),
);

fastify.post('/v1/pets', { schema: { body: newPet, response: { 201: pet } } }, async ({ body }, reply) =>
  reply.code(201).send(store.add(body)),
);

fastify.get(
  '/v1/pets/:petId',
  { schema: { params: petParams, response: { 200: pet } } },
  async ({ params }, reply) => store.find(params.petId) ?? reply.code(404).send(notFound),
);

await fastify.listen({ host: '127.0.0.1', port: Number(port) });
