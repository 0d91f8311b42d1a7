import Database from 'better-sqlite3';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import { z } from 'zod';
import { notFound, storeOf, unauthorized } from './store.js';

const [port, path] = process.argv.slice(2);
const store = storeOf(new Database(path));
const app = express();

const PetStatus = z.enum(['available', 'pending', 'sold']);
const NewPet = z.strictObject({
  name: z.string().min(1).max(255),
  categoryId: z.int(),
  status: PetStatus.optional(),
});
const ListQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  status: PetStatus.optional(),
  minId: z.coerce.number().int().optional(),
});
const PetParams = z.object({ petId: z.coerce.number().int() });

function invalid(response, error) {
  response.status(400).json({ code: 'invalid_request', message: z.prettifyError(error), status: 400 });
}

app.use((request, response, next) => {
  request.caller = store.findCaller(request.get('authorization'));
  if (request.caller === undefined) return response.status(401).json(unauthorized);
  next();
});

app.use(
  rateLimit({
    windowMs: 60_000,
    limit: (request) => request.caller.perMinute,
    keyGenerator: (request) => request.caller.key,
    standardHeaders: 'draft-8',
    legacyHeaders: true,
  }),
);

app.use(express.json());

app.get('/v1/pets', (request, response) => {
  const query = ListQuery.safeParse(request.query);
  if (!query.success) return invalid(response, query.error);
  const { limit, status, minId } = query.data;
  response.json(store.list(limit, status, minId));
});

app.post('/v1/pets', (request, response) => {
  const body = NewPet.safeParse(request.body);
  if (!body.success) return invalid(response, body.error);
  response.status(201).json(store.add(body.data));
});

app.get('/v1/pets/:petId', (request, response) => {
  const params = PetParams.safeParse(request.params);
  if (!params.success) return invalid(response, params.error);
  const pet = store.find(params.data.petId);
  if (pet === undefined) return response.status(404).json(notFound);
  response.json(pet);
});

app.listen(Number(port), '127.0.0.1');
