"""The names that LangGraph's users import and the methods they call; and the names that graph_compat leaves out."""

PUBLIC = {
    "graph": "StateGraph START END add_messages MessagesState MessageGraph",
    "graph.state": "StateGraph CompiledStateGraph",
    "graph.message": "add_messages MessagesState MessageGraph REMOVE_ALL_MESSAGES push_message",
    "graph.ui": "UIMessage RemoveUIMessage AnyUIMessage push_ui_message delete_ui_message ui_message_reducer",
    "func": "task entrypoint",
    "types": "Send Command interrupt Interrupt RetryPolicy CachePolicy TimeoutPolicy TracePolicy omit_payload "
    "Overwrite StateSnapshot PregelTask StateUpdate PregelExecutableTask CacheKey GraphOutput StreamMode StreamWriter "
    "StreamPart ValuesStreamPart UpdatesStreamPart MessagesStreamPart CustomStreamPart CheckpointStreamPart "
    "TasksStreamPart DebugStreamPart TaskPayload TaskResultPayload CheckpointTask CheckpointPayload DebugPayload "
    "Durability All Checkpointer ensure_valid_checkpointer default_retry_on",
    "errors": "GraphRecursionError InvalidUpdateError EmptyInputError EmptyChannelError GraphBubbleUp GraphInterrupt "
    "NodeInterrupt ParentCommand GraphDrained NodeError NodeTimeoutError NodeCancelledError TaskNotFound ErrorCode "
    "create_error_message UnknownInterruptError is_invalid_resume",
    "config": "get_config get_store get_stream_writer",
    "runtime": "Runtime DEFAULT_RUNTIME get_runtime ExecutionInfo ServerInfo RunControl BaseUser",
    "constants": "START END TAG_HIDDEN TAG_NOSTREAM CONF TASKS CONFIG_KEY_CHECKPOINTER Send Interrupt ERROR INTERRUPT "
    "RESUME NS_END NS_SEP PULL PUSH CONFIG_KEY_CHECKPOINT_NS",
    "callbacks": "GraphCallbackHandler GraphInterruptEvent GraphResumeEvent GraphLifecycleEvent GraphLifecycleStatus "
    "get_async_graph_callback_manager_for_config get_sync_graph_callback_manager_for_config",
    "managed": "IsLastStep RemainingSteps",
    "managed.base": "ManagedValue ManagedValueSpec ManagedValueMapping is_managed_value",
    "typing": "StateT StateT_co StateT_contra InputT OutputT ContextT NodeInputT",
    "warnings": "LangGraphDeprecationWarning LangGraphDeprecatedSinceV05 LangGraphDeprecatedSinceV10 "
    "LangGraphDeprecatedSinceV11",
    "version": "__version__",
    "_internal._config": "ensure_config merge_configs patch_configurable",
    "_internal._constants": "CONF CONFIG_KEY_CHECKPOINTER CONFIG_KEY_CHECKPOINT_ID CONFIG_KEY_CHECKPOINT_MAP "
    "CONFIG_KEY_CHECKPOINT_NS CONFIG_KEY_READ CONFIG_KEY_RUNTIME CONFIG_KEY_SEND CONFIG_KEY_THREAD_ID ERROR INTERRUPT "
    "NS_END NS_SEP PREVIOUS PULL PUSH RESUME TASKS",
    "_internal._retry": "default_retry_on",
    "_internal._runnable": "RunnableCallable RunnableLike",
    "_internal._typing": "MISSING DeprecatedKwargs",
    "prebuilt._tool_call_stream": "ToolCallStream",
    "prebuilt._tool_call_transformer": "ToolCallTransformer",
    "store.base.embed": "ensure_embeddings EmbeddingsFunc AEmbeddingsFunc get_text_at_path tokenize_path",
    "stream._mux": "StreamMux",
    "stream._types": "ProtocolEvent StreamTransformer",
    "utils.config": "ensure_config patch_configurable get_config get_store",
    "utils.runnable": "RunnableCallable RunnableLike",
    "channels": "BaseChannel LastValue LastValueAfterFinish AnyValue EphemeralValue UntrackedValue Topic "
    "BinaryOperatorAggregate DeltaChannel NamedBarrierValue NamedBarrierValueAfterFinish",
    "channels.any_value": "AnyValue",
    "channels.base": "BaseChannel Value Update",
    "channels.binop": "BinaryOperatorAggregate",
    "channels.delta": "DeltaChannel",
    "channels.ephemeral_value": "EphemeralValue",
    "channels.last_value": "LastValue LastValueAfterFinish",
    "channels.named_barrier_value": "NamedBarrierValue NamedBarrierValueAfterFinish",
    "channels.topic": "Topic",
    "channels.untracked_value": "UntrackedValue",
    "pregel": "Pregel NodeBuilder",
    "pregel.debug": "CheckpointPayload TaskPayload TaskResultPayload",
    "pregel.main": "Pregel NodeBuilder",
    "pregel.protocol": "PregelProtocol StreamProtocol",
    "pregel.remote": "RemoteGraph RemoteException",
    "pregel.types": "All StateUpdate CachePolicy PregelExecutableTask PregelTask RetryPolicy StateSnapshot StreamMode "
    "StreamWriter default_retry_on",
    "checkpoint.base": "BaseCheckpointSaver Checkpoint CheckpointMetadata CheckpointTuple ChannelVersions PendingWrite "
    "DeltaChannelHistory EmptyChannelError WRITES_IDX_MAP EXCLUDED_METADATA_KEYS get_checkpoint_id "
    "get_checkpoint_metadata get_serializable_checkpoint_metadata copy_checkpoint empty_checkpoint create_checkpoint "
    "writes_sort_key SerializerProtocol",
    "checkpoint.base.id": "uuid6 UUID",
    "checkpoint.memory": "InMemorySaver MemorySaver PersistentDict",
    "checkpoint.sqlite": "SqliteSaver",
    "checkpoint.sqlite.aio": "AsyncSqliteSaver",
    "checkpoint.postgres": "BasePostgresSaver Conn PostgresSaver ShallowPostgresSaver",
    "checkpoint.postgres.base": "BasePostgresSaver",
    "checkpoint.postgres.aio": "AsyncPostgresSaver AsyncShallowPostgresSaver Conn",
    "checkpoint.serde.base": "SerializerProtocol UntypedSerializerProtocol CipherProtocol SerializerCompat "
    "maybe_add_typed_methods",
    "checkpoint.serde.jsonplus": "JsonPlusSerializer InvalidModuleError",
    "checkpoint.serde.encrypted": "EncryptedSerializer",
    "checkpoint.serde.types": "SendProtocol ChannelProtocol",
    "checkpoint.serde.event_hooks": "SerdeEvent register_serde_event_listener emit_serde_event",
    "store.base": "BaseStore Item SearchItem Op GetOp PutOp SearchOp ListNamespacesOp MatchCondition NamespacePath "
    "NamespaceMatchType IndexConfig TTLConfig InvalidNamespaceError NOT_PROVIDED Embeddings ensure_embeddings "
    "tokenize_path get_text_at_path validate_op_namespace",
    "store.base.batch": "AsyncBatchedBaseStore",
    "store.memory": "InMemoryStore",
    "store.sqlite": "SqliteStore AsyncSqliteStore",
    "store.sqlite.aio": "AsyncSqliteStore",
    "store.sqlite.base": "SqliteStore SqliteIndexConfig",
    "store.postgres": "PostgresStore AsyncPostgresStore PoolConfig",
    "store.postgres.aio": "AsyncPostgresStore",
    "store.postgres.base": "PostgresStore PostgresIndexConfig PoolConfig ANNIndexConfig HNSWConfig IVFFlatConfig",
    "cache.base": "BaseCache",
    "cache.memory": "InMemoryCache",
    "cache.redis": "RedisCache",
    "cache.sqlite": "SqliteCache",
    "prebuilt": "create_react_agent ToolNode tools_condition InjectedState InjectedStore ToolRuntime ValidationNode "
    "ToolCallTransformer",
    "prebuilt.tool_node": "ToolNode tools_condition InjectedState InjectedStore ToolRuntime ToolCallRequest "
    "ToolCallWithContext ToolInvocationError ToolCallWrapper AsyncToolCallWrapper msg_content_output",
    "prebuilt.chat_agent_executor": "create_react_agent create_tool_calling_executor AgentState AgentStatePydantic "
    "AgentStateWithStructuredResponse AgentStateWithStructuredResponsePydantic StateSchema "
    "StructuredResponse",
    "prebuilt.interrupt": "HumanInterrupt HumanInterruptConfig ActionRequest HumanResponse",
    "prebuilt.tool_validator": "ValidationNode",
    "stream": "GraphRunStream AsyncGraphRunStream SubgraphRunStream AsyncSubgraphRunStream StreamChannel "
    "StreamTransformer ProtocolEvent LifecyclePayload SubgraphStatus LifecycleTransformer SubgraphTransformer "
    "UpdatesTransformer CustomTransformer CheckpointsTransformer DebugTransformer TasksTransformer",
}

QUERIES = "use PostgresSaver"
SERVER = "the hosted server is not supported"
OWN = {  # names of which graph_compat has its own value, or whose shape LangGraph hides or has of LangChain's types
    "version.__version__",
    "prebuilt.ValidationNode",
    "prebuilt.chat_agent_executor.StructuredResponse",
    "prebuilt.tool_node.AsyncToolCallWrapper",
    "prebuilt.tool_node.ToolCallWrapper",
    "prebuilt.tool_validator.ValidationNode",
}

DIFFERENT = {  # names of which graph_compat takes less, and why
    "types.Interrupt": "names that were deprecated before 1.0 are gone",
    "constants.Interrupt": "names that were deprecated before 1.0 are gone",
    **dict.fromkeys(
        ["_internal._runnable.RunnableLike", "utils.runnable.RunnableLike"],
        "LangChain's runnables are objects with invoke and ainvoke here",
    ),
    "graph.state.CompiledStateGraph": "a graph is made by compile()",
    "types.Interrupt.from_ns": "ids of questions are made by runs",
    **dict.fromkeys(["graph.add_messages", "graph.message.add_messages"], "an unknown argument is refused"),
    **dict.fromkeys(
        [
            *(
                "store.sqlite.SqliteStore",
                "store.sqlite.AsyncSqliteStore",
                "store.sqlite.aio.AsyncSqliteStore",
            ),
            *("store.postgres.PostgresStore", "store.postgres.AsyncPostgresStore"),
            *("store.postgres.base.PostgresStore", "store.sqlite.base.SqliteStore"),
            "store.postgres.aio.AsyncPostgresStore",
        ],
        "values are stored in flowfn's own form, which no `deserializer` of another one reads",
    ),
    "store.base.NamespacePath": "a literal type of one string more than `str` says no more than `str`",
}

BASES = {  # control signals that `except Exception` mustn't catch (G8): no `Exception`, unlike LangGraph's
    *("errors.GraphBubbleUp", "errors.GraphInterrupt", "errors.NodeInterrupt"),
    *("errors.ParentCommand", "errors.GraphDrained"),
}

LEFT_OUT = {
    "pregel.remote.RemoteGraph": SERVER,
    "pregel.remote.RemoteException": SERVER,
    "runtime.BaseUser": SERVER,
    "checkpoint.postgres.BasePostgresSaver": QUERIES,
    "checkpoint.postgres.base.BasePostgresSaver": QUERIES,
}

CHANNEL = "update get is_available consume finish checkpoint from_checkpoint copy"
SAVER = (
    "get get_tuple list put put_writes delete_thread delete_for_runs copy_thread prune get_delta_channel_history "
    "aget aget_tuple alist aput aput_writes adelete_thread adelete_for_runs acopy_thread aprune "
    "aget_delta_channel_history get_next_version with_allowlist"
)
STORE = "get put delete search list_namespaces batch aget aput adelete asearch alist_namespaces abatch"
CACHE = "get set clear aget aset aclear"
RUN = (
    "invoke stream get_state get_state_history update_state bulk_update_state clear_cache get_graph get_subgraphs "
    "ainvoke astream aget_state aget_state_history aupdate_state abulk_update_state aclear_cache aget_graph "
    "aget_subgraphs get_input_schema get_input_jsonschema get_output_schema get_output_jsonschema "
    "get_context_jsonschema config_schema get_config_jsonschema with_config copy validate get_name stream_events "
    "astream_events batch abatch"
)
METHODS = {
    "graph.StateGraph": "add_node add_edge add_conditional_edges add_sequence set_entry_point set_finish_point "
    "set_conditional_entry_point set_node_defaults validate compile",
    "graph.state.CompiledStateGraph": RUN,
    "pregel.Pregel": RUN,
    "pregel.NodeBuilder": "subscribe_only subscribe_to read_from do write_to meta add_retry_policies add_cache_policy "
    "set_timeout build",
    "func.entrypoint": "__call__",
    "types.Interrupt": "from_ns",
    "types.TimeoutPolicy": "coerce",
    "runtime.Runtime": "merge override patch_execution_info",
    "runtime.RunControl": "request_drain",
    "managed.base.ManagedValue": "get",
    **{f"channels.{name}": CHANNEL for name in PUBLIC["channels"].split()},
    "checkpoint.base.BaseCheckpointSaver": SAVER,
    "checkpoint.memory.InMemorySaver": SAVER,
    "checkpoint.sqlite.SqliteSaver": f"{SAVER} from_conn_string setup",
    "checkpoint.sqlite.aio.AsyncSqliteSaver": f"{SAVER} from_conn_string setup",
    "checkpoint.postgres.PostgresSaver": f"{SAVER} from_conn_string setup",
    "checkpoint.postgres.aio.AsyncPostgresSaver": f"{SAVER} from_conn_string setup",
    "checkpoint.serde.jsonplus.JsonPlusSerializer": "dumps_typed loads_typed with_msgpack_allowlist",
    "checkpoint.serde.encrypted.EncryptedSerializer": "dumps_typed loads_typed from_pycryptodome_aes",
    "store.base.BaseStore": STORE,
    "store.memory.InMemoryStore": STORE,
    "store.sqlite.SqliteStore": f"{STORE} from_conn_string setup sweep_ttl start_ttl_sweeper stop_ttl_sweeper",
    "store.postgres.PostgresStore": f"{STORE} from_conn_string setup sweep_ttl start_ttl_sweeper stop_ttl_sweeper",
    **dict.fromkeys(
        ("stream.GraphRunStream", "stream.SubgraphRunStream"),
        "output interrupted interrupts abort interleave",
    ),
    **dict.fromkeys(
        ("stream.AsyncGraphRunStream", "stream.AsyncSubgraphRunStream"), "output interrupted interrupts abort"
    ),
    "stream.StreamChannel": "push close fail tee atee",
    "stream.StreamTransformer": "init process aprocess finalize afinalize fail afail schedule",
    "cache.base.BaseCache": CACHE,
    "cache.memory.InMemoryCache": CACHE,
    "cache.sqlite.SqliteCache": CACHE,
}
