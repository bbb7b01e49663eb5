/* A libnvidia-ml.so.1 that shows the machine which a text file describes, read anew with every call. The file's
 * path is in PLUGHOST_FAKE_NVML; beside it "<path>.open" is there while somebody has initialised the library.
 *
 *   card GPU-… minor=0 pci=0000:3b:00.0 memory=81559 mig=0 lost=0 recovery=0 events=0xc10f name=NVIDIA_H100
 *   card GPU-… fabric=2 fabricStatus=0     nvmlGpuFabricState_t, and an nvmlReturn_t; without fabric: not supported
 *   mig CARD MIG-… gi=1 ci=0 memory=4864 name=NVIDIA_A100_MIG_1g.5gb   # memory in MiB, _ in names: a space
 *   link CARD OTHER COUNT        NVLinks between two cards, given once
 *   level CARD OTHER LEVEL       nvmlGpuTopologyLevel_t; 50 where nothing is said
 *   event SERIAL CARD TYPE CODE [GI CI]    told once to each event set that had registered the card for the type
 *                                          by then, those with smaller SERIALs first
 *   fail FUNCTION CODE           the call returns that
 *   hang FUNCTION                the call does not return while the line stands there
 *
 * Calls may come from several threads, as with the real library; one that hangs holds up no other.
 * mig=-1: the card knows no MIG. With FAKE_NVML_OLD the functions that came later are missing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TIMED_OUT = 10, LOST = 15 };
enum { MOST_CARDS = 32, MOST_MIGS = 128, MOST_LINKS = 18, MOST_EVENTS = 64 };

typedef struct {
  char uuid[96], name[96];
  unsigned minor, domain, bus, slot, recovery;
  int mig, lost, fabric, fabric_status;
  unsigned long long memory, events;
  unsigned peers[MOST_LINKS], link_count;
} Card;
typedef struct {
  char uuid[96], name[96];
  unsigned card, gi, ci;
  unsigned long long memory;
} Mig;
typedef struct {
  void *device;
  unsigned long long type, data;
  unsigned gi, ci;
} Event;
typedef struct {
  unsigned char cluster[16];
  int status;
  unsigned clique;
  unsigned char state;
} Fabric;
typedef struct {
  unsigned version;
  Fabric first;
  unsigned health;
} VersionedFabric;
typedef struct {
  unsigned serial, card;
  Event what;
} Happened;
/* Each has a queue of its own, as the driver's. */
typedef struct {
  unsigned last, registered[MOST_CARDS], since[MOST_CARDS];
} EventSet;
typedef struct {
  char legacy[16];
  unsigned domain, bus, device, ids[2];
  char bus_id[32];
} Pci;
typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  unsigned long long value;
} Field;

static Card cards[MOST_CARDS];
static Mig migs[MOST_MIGS];
static unsigned levels[MOST_CARDS][MOST_CARDS];
static unsigned card_count, mig_count, opened, event_count;
static Happened happened[MOST_EVENTS];
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

static void option(const char *word, const char *key, unsigned long long *value) {
  size_t length = strlen(key);
  if (strncmp(word, key, length) == 0 && word[length] == '=') *value = strtoull(word + length + 1, NULL, 0);
}

static void name_option(const char *word, char *name) {
  if (strncmp(word, "name=", 5) != 0) return;
  snprintf(name, 96, "%s", word + 5);
  for (; *name; ++name)
    if (*name == '_') *name = ' ';
}

static void read_card(char *rest) {
  char *state = NULL, *word = strtok_r(rest, " ", &state);
  unsigned long long minor = card_count, memory = 0, lost = 0, recovery = 0, events = 0xc10f, mig = 0;
  unsigned long long fabric = -1ULL, fabric_status = 0;
  Card *card = &cards[card_count];
  if (!word || card_count == MOST_CARDS) return;
  memset(card, 0, sizeof *card);
  snprintf(card->uuid, sizeof card->uuid, "%s", word);
  snprintf(card->name, sizeof card->name, "NVIDIA Made Card");
  while ((word = strtok_r(NULL, " ", &state))) {
    option(word, "minor", &minor);
    option(word, "memory", &memory);
    option(word, "lost", &lost);
    option(word, "recovery", &recovery);
    option(word, "events", &events);
    option(word, "mig", &mig);
    option(word, "fabric", &fabric);
    option(word, "fabricStatus", &fabric_status);
    sscanf(word, "pci=%x:%x:%x", &card->domain, &card->bus, &card->slot);
    name_option(word, card->name);
  }
  card->minor = (unsigned)minor;
  card->memory = memory << 20;
  card->lost = (int)lost;
  card->recovery = (unsigned)recovery;
  card->events = events;
  card->mig = (int)mig;
  card->fabric = (int)fabric;
  card->fabric_status = (int)fabric_status;
  ++card_count;
}

static void read_mig(char *rest) {
  char *state = NULL, *word = strtok_r(rest, " ", &state);
  unsigned long long gi = 0, ci = 0, memory = 0;
  Mig *mig = &migs[mig_count];
  if (!word || mig_count == MOST_MIGS) return;
  memset(mig, 0, sizeof *mig);
  mig->card = (unsigned)atoi(word);
  if (!(word = strtok_r(NULL, " ", &state))) return;
  snprintf(mig->uuid, sizeof mig->uuid, "%s", word);
  while ((word = strtok_r(NULL, " ", &state))) {
    option(word, "gi", &gi);
    option(word, "ci", &ci);
    option(word, "memory", &memory);
    name_option(word, mig->name);
  }
  mig->gi = (unsigned)gi;
  mig->ci = (unsigned)ci;
  mig->memory = memory << 20;
  ++mig_count;
}

static void read_link(unsigned a, unsigned b, unsigned count) {
  for (; count > 0 && a < MOST_CARDS && b < MOST_CARDS; --count) {
    if (cards[a].link_count < MOST_LINKS) cards[a].peers[cards[a].link_count++] = b;
    if (cards[b].link_count < MOST_LINKS) cards[b].peers[cards[b].link_count++] = a;
  }
}

static void read_event(const char *line) {
  unsigned serial, card, gi = 0xFFFFFFFF, ci = 0xFFFFFFFF;
  unsigned long long type, data;
  if (sscanf(line, "event %u %u %lli %lli %u %u", &serial, &card, (long long *)&type, (long long *)&data, &gi,
             &ci) < 4)
    return;
  if (card >= MOST_CARDS || event_count == MOST_EVENTS) return;
  happened[event_count++] = (Happened){serial, card, {&cards[card], type, data, gi, ci}};
}

/* Reads the file; the result is what the call of that name must return, or OK. */
static int begin(const char *function) {
  const char *path = getenv("PLUGHOST_FAKE_NVML");
  char line[512], word[128];
  int code, result, hangs;
  do {
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file) return 9; /* the driver is not loaded */
    result = OK;
    hangs = 0;
    card_count = mig_count = event_count = 0;
    for (unsigned i = 0; i < MOST_CARDS; ++i)
      for (unsigned j = 0; j < MOST_CARDS; ++j) levels[i][j] = 50;
    while (fgets(line, sizeof line, file)) {
      unsigned a, b, c;
      line[strcspn(line, "\n")] = 0;
      if (strncmp(line, "card ", 5) == 0) read_card(line + 5);
      if (strncmp(line, "mig ", 4) == 0) read_mig(line + 4);
      if (sscanf(line, "link %u %u %u", &a, &b, &c) == 3) read_link(a, b, c);
      if (sscanf(line, "level %u %u %u", &a, &b, &c) == 3 && a < MOST_CARDS && b < MOST_CARDS)
        levels[a][b] = levels[b][a] = c;
      if (strncmp(line, "event ", 6) == 0) read_event(line);
      if (sscanf(line, "fail %127s %d", word, &code) == 2 && strcmp(word, function) == 0) result = code;
      if (sscanf(line, "hang %127s", word) == 1 && strcmp(word, function) == 0) hangs = 1;
    }
    fclose(file);
    if (!hangs) continue;
    pthread_mutex_unlock(&mutex);
    usleep(10000);
    pthread_mutex_lock(&mutex);
  } while (hangs);
  return result;
}

static Card *card_of(void *device) {
  Card *card = device;
  return card >= cards && card < cards + card_count ? card : NULL;
}

static Mig *mig_of(void *device) {
  Mig *mig = device;
  return mig >= migs && mig < migs + mig_count ? mig : NULL;
}

static int locked(void) { return pthread_mutex_lock(&mutex); }
static void unlock(int *unused) {
  (void)unused;
  pthread_mutex_unlock(&mutex);
}

/* To the end of the function what it reads stays as it is. */
#define BEGIN(function)                                           \
  int lock __attribute__((cleanup(unlock), unused)) = locked();   \
  {                                                               \
    int code = begin(function);                                   \
    if (code != OK) return code;                                  \
  }
/* What a lost card answers to nearly everything, as for its MIG devices. */
#define ALIVE(device)                                                       \
  {                                                                         \
    Mig *mig_ = mig_of(device);                                             \
    Card *card_ = mig_ ? &cards[mig_->card] : card_of(device);              \
    if (!card_) return INVALID;                                             \
    if (card_->lost) return LOST;                                           \
  }

static void mark(int there) {
  char path[4096];
  const char *script = getenv("PLUGHOST_FAKE_NVML");
  if (!script) return;
  snprintf(path, sizeof path, "%s.open", script);
  if (there) {
    FILE *file = fopen(path, "w");
    if (file) fclose(file);
  } else {
    unlink(path);
  }
}

static int start(const char *function) {
  BEGIN(function)
  if (opened++ == 0) mark(1);
  return OK;
}

int nvmlShutdown(void) {
  int lock __attribute__((cleanup(unlock), unused)) = locked();
  begin("nvmlShutdown"); /* may hang; whatever it says, the library is released */
  if (opened > 0 && --opened == 0) mark(0);
  return OK;
}

const char *nvmlErrorString(int code) {
  switch (code) {
    case OK: return "Success";
    case INVALID: return "Invalid Argument";
    case NOT_SUPPORTED: return "Not Supported";
    case NOT_FOUND: return "Not Found";
    case 9: return "Driver Not Loaded";
    case TIMED_OUT: return "Timeout";
    case LOST: return "GPU is lost";
    default: return "Unknown Error";
  }
}

static int get_count(const char *function, unsigned *count) {
  BEGIN(function)
  *count = card_count;
  return OK;
}

static int get_by_index(const char *function, unsigned index, void **device) {
  BEGIN(function)
  if (index >= card_count) return INVALID;
  *device = &cards[index];
  return cards[index].lost ? LOST : OK;
}

static int get_pci(const char *function, void *device, Pci *pci) {
  Card *card;
  BEGIN(function)
  ALIVE(device)
  if (!(card = card_of(device))) return NOT_SUPPORTED;
  memset(pci, 0, sizeof *pci);
  pci->domain = card->domain;
  pci->bus = card->bus;
  pci->device = card->slot;
  return OK;
}

static int get_event(const char *function, EventSet *set, Event *event, unsigned wait, int instances) {
  BEGIN(function)
  (void)wait;
  for (unsigned i = 0; i < event_count; ++i) {
    const Happened *each = &happened[i];
    if (each->serial <= set->last || each->serial <= set->since[each->card]) continue;
    if (!(set->registered[each->card] & each->what.type)) continue;
    set->last = each->serial;
    event->device = each->what.device;
    event->type = each->what.type;
    event->data = each->what.data;
    if (!instances) return OK;
    event->gi = each->what.gi;
    event->ci = each->what.ci;
    return OK;
  }
  return TIMED_OUT;
}

#ifdef FAKE_NVML_OLD
int nvmlInit(void) { return start("nvmlInit"); }
int nvmlDeviceGetCount(unsigned *count) { return get_count("nvmlDeviceGetCount", count); }
int nvmlDeviceGetHandleByIndex(unsigned index, void **device) {
  return get_by_index("nvmlDeviceGetHandleByIndex", index, device);
}
int nvmlDeviceGetPciInfo(void *device, Pci *pci) { return get_pci("nvmlDeviceGetPciInfo", device, pci); }
int nvmlEventSetWait(void *set, Event *event, unsigned wait) {
  return get_event("nvmlEventSetWait", set, event, wait, 0);
}
#else
int nvmlInit_v2(void) { return start("nvmlInit_v2"); }
int nvmlDeviceGetCount_v2(unsigned *count) { return get_count("nvmlDeviceGetCount_v2", count); }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  return get_by_index("nvmlDeviceGetHandleByIndex_v2", index, device);
}
int nvmlDeviceGetPciInfo_v3(void *device, Pci *pci) { return get_pci("nvmlDeviceGetPciInfo_v3", device, pci); }
int nvmlEventSetWait_v2(void *set, Event *event, unsigned wait) {
  return get_event("nvmlEventSetWait_v2", set, event, wait, 1);
}

int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *next) {
  Card *card;
  BEGIN("nvmlDeviceGetMigMode")
  ALIVE(device)
  if (!(card = card_of(device)) || card->mig < 0) return NOT_SUPPORTED;
  *current = *next = (unsigned)card->mig;
  return OK;
}

int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) {
  BEGIN("nvmlDeviceGetMaxMigDeviceCount")
  ALIVE(device)
  *count = card_of(device) && card_of(device)->mig >= 0 ? 7 : 0;
  return OK;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **mig) {
  unsigned n = 0;
  BEGIN("nvmlDeviceGetMigDeviceHandleByIndex")
  ALIVE(device)
  for (unsigned i = 0; i < mig_count; ++i) {
    if (&cards[migs[i].card] != device || n++ != index) continue;
    *mig = &migs[i];
    return OK;
  }
  return NOT_FOUND;
}

int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id) {
  BEGIN("nvmlDeviceGetGpuInstanceId")
  ALIVE(device)
  if (!mig_of(device)) return INVALID;
  *id = mig_of(device)->gi;
  return OK;
}

int nvmlDeviceGetComputeInstanceId(void *device, unsigned *id) {
  BEGIN("nvmlDeviceGetComputeInstanceId")
  ALIVE(device)
  if (!mig_of(device)) return INVALID;
  *id = mig_of(device)->ci;
  return OK;
}

int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, Pci *pci) {
  Card *card;
  BEGIN("nvmlDeviceGetNvLinkRemotePciInfo_v2")
  ALIVE(device)
  card = card_of(device);
  if (!card || link >= card->link_count) return INVALID;
  return get_pci("", &cards[card->peers[link]], pci);
}

static int get_fabric(const char *function, void *device, Fabric *fabric) {
  Card *card;
  BEGIN(function)
  ALIVE(device)
  if (!(card = card_of(device)) || card->fabric < 0) return NOT_SUPPORTED;
  fabric->state = (unsigned char)card->fabric;
  fabric->status = card->fabric_status;
  return OK;
}

int nvmlDeviceGetGpuFabricInfo(void *device, Fabric *fabric) {
  return get_fabric("nvmlDeviceGetGpuFabricInfo", device, fabric);
}

int nvmlDeviceGetGpuFabricInfoV(void *device, VersionedFabric *fabric) {
  if (fabric->version != 0x02000024) return 25; /* NVML_ERROR_ARGUMENT_VERSION_MISMATCH */
  return get_fabric("nvmlDeviceGetGpuFabricInfoV", device, &fabric->first);
}

int nvmlDeviceGetFieldValues(void *device, int count, Field *fields) {
  BEGIN("nvmlDeviceGetFieldValues")
  ALIVE(device)
  for (int i = 0; i < count; ++i) {
    fields[i].result = fields[i].field == 230 && card_of(device) ? OK : NOT_SUPPORTED;
    fields[i].type = 1;
    if (fields[i].result == OK) fields[i].value = card_of(device)->recovery;
  }
  return OK;
}
#endif

int nvmlDeviceGetUUID(void *device, char *text, unsigned size) {
  BEGIN("nvmlDeviceGetUUID")
  ALIVE(device)
  snprintf(text, size, "%s", mig_of(device) ? mig_of(device)->uuid : card_of(device)->uuid);
  return OK;
}

int nvmlDeviceGetName(void *device, char *text, unsigned size) {
  BEGIN("nvmlDeviceGetName")
  ALIVE(device)
  snprintf(text, size, "%s", mig_of(device) ? mig_of(device)->name : card_of(device)->name);
  return OK;
}

int nvmlDeviceGetMinorNumber(void *device, unsigned *number) {
  BEGIN("nvmlDeviceGetMinorNumber")
  ALIVE(device)
  if (!card_of(device)) return NOT_SUPPORTED;
  *number = card_of(device)->minor;
  return OK;
}

int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory) {
  BEGIN("nvmlDeviceGetMemoryInfo")
  ALIVE(device)
  memory[0] = mig_of(device) ? mig_of(device)->memory : card_of(device)->memory;
  memory[1] = memory[0];
  memory[2] = 0;
  return OK;
}

int nvmlDeviceGetTopologyCommonAncestor(void *one, void *other, unsigned *level) {
  BEGIN("nvmlDeviceGetTopologyCommonAncestor")
  ALIVE(one)
  ALIVE(other)
  *level = levels[card_of(one) - cards][card_of(other) - cards];
  return OK;
}

int nvmlDeviceGetNvLinkState(void *device, unsigned link, unsigned *active) {
  BEGIN("nvmlDeviceGetNvLinkState")
  ALIVE(device)
  if (!card_of(device) || card_of(device)->link_count == 0) return NOT_SUPPORTED;
  *active = link < card_of(device)->link_count;
  return OK;
}

int nvmlEventSetCreate(void **set) {
  BEGIN("nvmlEventSetCreate")
  *set = calloc(1, sizeof(EventSet));
  return *set ? OK : 999;
}

int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *types) {
  BEGIN("nvmlDeviceGetSupportedEventTypes")
  ALIVE(device)
  *types = card_of(device)->events;
  return OK;
}

int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set) {
  BEGIN("nvmlDeviceRegisterEvents")
  ALIVE(device)
  {
    EventSet *its = set;
    const long card = card_of(device) - cards;
    its->registered[card] = (unsigned)types;
    for (unsigned i = 0; i < event_count; ++i)
      if (happened[i].serial > its->since[card]) its->since[card] = happened[i].serial;
  }
  return OK;
}

int nvmlEventSetFree(void *set) {
  free(set);
  return OK;
}
