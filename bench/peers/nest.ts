import 'reflect-metadata';
import {
  Body,
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Inject,
  Injectable,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
  Query,
  UnauthorizedException,
  ValidationPipe,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { ThrottlerGuard, ThrottlerModule } from '@nestjs/throttler';
import Database from 'better-sqlite3';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsNotEmpty, IsOptional, IsString, Max, MaxLength, Min } from 'class-validator';
import { notFound, storeOf, unauthorized } from './store.js';

const [port, path] = process.argv.slice(2);
const statuses = ['available', 'pending', 'sold'];

class NewPetDto {
  @IsString()
  @IsNotEmpty()
  @MaxLength(255)
  name!: string;

  @IsInt()
  categoryId!: number;

  @IsOptional()
  @IsIn(statuses)
  status?: string;
}

class ListQueryDto {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  limit = 20;

  @IsOptional()
  @IsIn(statuses)
  status?: string;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  minId?: number;
}

@Injectable()
class PetStore {
  readonly store = storeOf(new Database(path));
}

@Injectable()
class ApiKeyGuard implements CanActivate {
  constructor(@Inject(PetStore) private readonly pets: PetStore) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest();
    request.caller = this.pets.store.findCaller(request.headers.authorization);
    if (request.caller === undefined) throw new UnauthorizedException(unauthorized);
    return true;
  }
}

@Injectable()
class CallerThrottlerGuard extends ThrottlerGuard {
  protected override async getTracker(request: Record<string, { key: string }>): Promise<string> {
    return request.caller.key;
  }
}

@Controller('v1/pets')
class PetsController {
  constructor(@Inject(PetStore) private readonly pets: PetStore) {}

  @Get()
  list(@Query() query: ListQueryDto) {
    return this.pets.store.list(query.limit, query.status, query.minId);
  }

  @Post()
  create(@Body() pet: NewPetDto) {
    return this.pets.store.add(pet);
  }

  @Get(':petId')
  get(@Param('petId', ParseIntPipe) petId: number) {
    const pet = this.pets.store.find(petId);
    if (pet === undefined) throw new NotFoundException(notFound);
    return pet;
  }
}

@Module({
  imports: [
    ThrottlerModule.forRoot([
      { ttl: 60_000, limit: (context) => context.switchToHttp().getRequest().caller.perMinute },
    ]),
  ],
  controllers: [PetsController],
  // Global guards run in the order of this list.
  providers: [
    PetStore,
    { provide: APP_GUARD, useClass: ApiKeyGuard },
    { provide: APP_GUARD, useClass: CallerThrottlerGuard },
  ],
})
class AppModule {}

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] });
app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true, forbidNonWhitelisted: true }));
await app.listen(Number(port), '127.0.0.1');
